//! The lines in which two texts differ, with some lines around them.
//!
//! The algorithm takes time in proportion to the lines and the differences. Steps are counted
//! in advance, so that no pair of texts takes long.

use serde::Serialize;
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

/// Unchanged lines around those that differ.
const CONTEXT_LINES: usize = 3;
/// Lines of one file.
const MAX_LINES: usize = 2_000;
/// Bytes of one line.
const MAX_LINE_BYTES: usize = 2_000;
/// Bytes of all lines of a comparison.
const MAX_TOTAL_BYTES: usize = 400_000;
/// Steps of all texts of a comparison.
const MAX_TOTAL_STEPS: u64 = 200_000_000;

/// The lines in which two texts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineDiff {
    /// Whether lines that differ are left out, or cut.
    pub truncated: bool,
    /// Neighbouring lines, in order.
    pub hunks: Vec<DiffHunk>,
}

/// Neighbouring lines of which some differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffHunk {
    /// Its first line in the first text, from 1.
    pub from_line: usize,
    /// How many lines of the first text it covers.
    pub from_count: usize,
    /// Its first line in the second text, from 1.
    pub to_line: usize,
    /// How many lines of the second text it covers.
    pub to_count: usize,
    /// The lines.
    pub lines: Vec<DiffLine>,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// Which text has it.
    pub op: LineOp,
    /// The line without its end.
    pub text: String,
}

/// Which of two texts has a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum LineOp {
    /// Both.
    #[serde(rename = " ")]
    Same,
    /// The first.
    #[serde(rename = "-")]
    Removed,
    /// The second.
    #[serde(rename = "+")]
    Added,
}

impl LineOp {
    /// The character in front of the line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LineOp::Same => " ",
            LineOp::Removed => "-",
            LineOp::Added => "+",
        }
    }
}

/// What is left for the texts of a comparison.
pub(super) struct DiffBudget {
    bytes: usize,
    steps: u64,
}

impl Default for DiffBudget {
    fn default() -> Self {
        DiffBudget {
            bytes: MAX_TOTAL_BYTES,
            steps: MAX_TOTAL_STEPS,
        }
    }
}

pub(super) fn diff_lines(from: &str, to: &str, budget: &mut DiffBudget) -> LineDiff {
    // With their ends, so that they differ if only those do.
    let from: Vec<&str> = from.split_inclusive('\n').collect();
    let to: Vec<&str> = to.split_inclusive('\n').collect();
    let mut diff = LineDiff {
        truncated: false,
        hunks: Vec::new(),
    };
    let steps = max_steps(&from, &to);
    let Some(left) = budget.steps.checked_sub(steps) else {
        diff.truncated = true;
        return diff;
    };
    budget.steps = left;
    let mut lines_left = MAX_LINES;
    let ops = capture_diff_slices(Algorithm::Myers, &from, &to);
    for group in group_diff_ops(ops, CONTEXT_LINES) {
        let (hunk, is_whole) = hunk(&group, &from, &to, &mut lines_left, budget);
        diff.hunks.extend(hunk);
        if !is_whole {
            diff.truncated = true;
            break;
        }
    }
    diff
}

/// The steps that the algorithm takes at most for two texts.
fn max_steps(from: &[&str], to: &[&str]) -> u64 {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = from.iter().zip(to).take_while(same).count();
    let rest = |lines: &[&str]| lines.len().saturating_sub(head);
    let tails = from.iter().rev().zip(to.iter().rev());
    let tail = tails.take_while(same).count();
    let tail = tail.min(rest(from)).min(rest(to));
    let (old, new) = (rest(from) - tail, rest(to) - tail);
    let lines = (old + new) as u64;
    // What is only added or removed needs no search.
    if old == 0 || new == 0 {
        lines
    } else {
        lines.saturating_mul(lines)
    }
}

/// A hunk, and whether all its lines are in it.
fn hunk(
    ops: &[DiffOp],
    from: &[&str],
    to: &[&str],
    lines_left: &mut usize,
    budget: &mut DiffBudget,
) -> (Option<DiffHunk>, bool) {
    // Only an operation with lines of a text tells where it is in that text.
    let ranges = || ops.iter().map(DiffOp::as_tag_tuple);
    let old = || ranges().map(|(_, old, _)| old);
    let new = || ranges().map(|(_, _, new)| new);
    let first_old = old().find(|range| !range.is_empty()).or(old().next());
    let first_new = new().find(|range| !range.is_empty()).or(new().next());
    let (Some(first_old), Some(first_new)) = (first_old, first_new) else {
        return (None, true);
    };
    let mut hunk = DiffHunk {
        from_line: first_old.start + 1,
        from_count: old().map(|range| range.len()).sum(),
        to_line: first_new.start + 1,
        to_count: new().map(|range| range.len()).sum(),
        lines: Vec::new(),
    };
    let mut is_whole = true;
    for op in ops {
        let (tag, old, new) = op.as_tag_tuple();
        let old = from.get(old).unwrap_or_default();
        let new = to.get(new).unwrap_or_default();
        let (removed, added) = match tag {
            DiffTag::Equal => (&[][..], &[][..]),
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => (old, new),
        };
        let same = if tag == DiffTag::Equal { old } else { &[] };
        let same = same.iter().map(|line| (LineOp::Same, line));
        let removed = removed.iter().map(|line| (LineOp::Removed, line));
        let added = added.iter().map(|line| (LineOp::Added, line));
        for (op, line) in same.chain(removed).chain(added) {
            let (text, is_cut) = shown(line);
            is_whole = is_whole && !is_cut;
            let bytes = text.len() + 1;
            if *lines_left == 0 || bytes > budget.bytes {
                return (Some(hunk), false);
            }
            *lines_left -= 1;
            budget.bytes -= bytes;
            hunk.lines.push(DiffLine { op, text });
        }
    }
    (Some(hunk), is_whole)
}

/// A line without its end, and whether it was cut.
fn shown(line: &str) -> (String, bool) {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.len() <= MAX_LINE_BYTES {
        return (line.to_owned(), false);
    }
    let (start, _) = line.split_at(line.floor_char_boundary(MAX_LINE_BYTES));
    (format!("{start}…"), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(from: &str, to: &str) -> LineDiff {
        diff_lines(from, to, &mut DiffBudget::default())
    }

    fn shown_lines(diff: &LineDiff) -> Vec<String> {
        let hunks = diff.hunks.iter();
        let lines = hunks.flat_map(|hunk| {
            let head = format!(
                "@@ -{},{} +{},{} @@",
                hunk.from_line, hunk.from_count, hunk.to_line, hunk.to_count
            );
            let lines = hunk.lines.iter();
            let lines = lines.map(|line| format!("{}{}", line.op.as_str(), line.text));
            std::iter::once(head).chain(lines)
        });
        lines.collect()
    }

    #[test]
    fn lines_that_differ_come_with_those_around_them() {
        let from: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let to = from.replace("10\n", "ten\n").replace("20\n", "");
        let lines = shown_lines(&diff(&from, &to));
        let expected = [
            "@@ -7,7 +7,7 @@",
            " 7",
            " 8",
            " 9",
            "-10",
            "+ten",
            " 11",
            " 12",
            " 13",
            "@@ -17,4 +17,3 @@",
            " 17",
            " 18",
            " 19",
            "-20",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn ends_of_lines_count() {
        assert_eq!(
            shown_lines(&diff("a\n", "a")),
            ["@@ -1,1 +1,1 @@", "-a", "+a"]
        );
        assert_eq!(shown_lines(&diff("a\r\n", "a\n")).len(), 3);
    }

    #[test]
    fn lines_that_are_left_out_are_reported() {
        let many: String = (0..MAX_LINES + 1).map(|line| format!("{line}\n")).collect();
        let added = diff("", &many);
        assert!(added.truncated);
        assert_eq!(added.hunks[0].lines.len(), MAX_LINES);
        let long = "x".repeat(MAX_LINE_BYTES + 1);
        let cut = diff("", &long);
        assert!(cut.truncated && cut.hunks[0].lines[0].text.ends_with('…'));
        // Texts without a common line, for which the search would take long.
        let text = |word: &str| {
            let lines = 0..20_000;
            lines
                .map(|line| format!("{word}{line}\n"))
                .collect::<String>()
        };
        let refused = diff(&text("a"), &text("b"));
        assert!(refused.truncated && refused.hunks.is_empty());
        let mut budget = DiffBudget {
            bytes: 10,
            steps: 1_000,
        };
        assert!(diff_lines("", "0123456789\n", &mut budget).truncated);
    }

    proptest::proptest! {
        /// Whatever the texts are, the second can be made of the first and the lines.
        #[test]
        fn the_lines_lead_from_one_text_to_the_other(
            from in "([a-c]\n){0,12}",
            to in "([a-c]\n){0,12}",
        ) {
            let diff = diff(&from, &to);
            let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
            let (old, mut made, mut at) = (lines(&from), Vec::new(), 0);
            for hunk in &diff.hunks {
                // A hunk that covers no line begins after the line before it.
                let start = hunk.from_line - 1;
                made.extend(old[at..start].iter().cloned());
                at = start + hunk.from_count;
                let kept = hunk.lines.iter().filter(|line| line.op != LineOp::Removed);
                made.extend(kept.map(|line| line.text.clone()));
            }
            made.extend(old[at..].iter().cloned());
            proptest::prop_assert_eq!(made, lines(&to));
        }
    }
}
