//! Mending YAML that people write and parsers refuse.
//!
//! Two mistakes make up nearly all broken frontmatter in the wild: a value with
//! an unquoted `: ` in it, and text on the line of a `|` or `>`. Both have one
//! plain meaning, and readers that load such files agree on it. A repaired text
//! is not fully trusted: see [`Frontmatter::is_repaired`](super::Frontmatter::is_repaired).

use super::yaml;
use crate::limits::BundleLimits;

/// A repaired YAML text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RepairedYaml {
    pub(super) text: String,
    /// For each line of `text`, the line of the original it came from (both from 0).
    pub(super) lines: Vec<usize>,
    pub(super) repairs: Vec<Repair>,
}

/// One repaired line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repair {
    /// The line in the original, from 0.
    pub(super) line: usize,
    pub(super) kind: RepairKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RepairKind {
    /// A value had to be put in quotes.
    Quoted,
    /// Text stood on the line of a block mark.
    BlockText,
}

/// Repairs a text; `None` if there is nothing that can be repaired.
pub(super) fn repair(text: &str, limits: &BundleLimits) -> Option<RepairedYaml> {
    let mut repairer = Repairer {
        lines: text.split('\n').collect(),
        limits,
        out: Vec::new(),
        repairs: Vec::new(),
    };
    repairer.run();
    if repairer.repairs.is_empty() {
        return None;
    }
    let (text, lines): (Vec<String>, Vec<usize>) = repairer.out.into_iter().unzip();
    Some(RepairedYaml {
        text: text.join("\n"),
        lines,
        repairs: repairer.repairs,
    })
}

struct Repairer<'a> {
    lines: Vec<&'a str>,
    limits: &'a BundleLimits,
    /// Lines written, each with the line it came from.
    out: Vec<(String, usize)>,
    repairs: Vec<Repair>,
}

/// A line of the form `key: value`.
struct KeyLine<'a> {
    /// Everything up to and with the colon.
    head: &'a str,
    /// Blanks (and list dashes) before the key.
    indent: usize,
    value: &'a str,
}

impl<'a> Repairer<'a> {
    fn run(&mut self) {
        let mut at = 0;
        while let Some(&line) = self.lines.get(at) {
            at = match parse_entry(line) {
                Some(entry) => self.repair_entry(at, &entry),
                None => self.keep_lines(at, at + 1),
            };
        }
    }

    /// Writes the entry that begins at line `at`; returns the line after it.
    fn repair_entry(&mut self, at: usize, entry: &KeyLine<'_>) -> usize {
        let end = self.end_of_value(at, entry.indent);
        if entry.value.is_empty() || entry.value.starts_with('#') {
            return self.keep_lines(at, at + 1);
        }
        if let Some(mark) = entry
            .value
            .chars()
            .next()
            .filter(|c| matches!(c, '|' | '>'))
        {
            if is_block_header(entry.value) {
                return self.keep_lines(at, end);
            }
            return self.repair_block_text(at, end, entry, mark);
        }
        let value = self.join_value(at, end, entry.value);
        if self.is_valid_alone(at, end, entry) {
            return self.keep_lines(at, end);
        }
        self.repairs.push(Repair {
            line: at,
            kind: RepairKind::Quoted,
        });
        let quoted = value.replace('\'', "''");
        self.out.push((format!("{} '{quoted}'", entry.head), at));
        end
    }

    /// `key: | text` becomes `key: |` with the text as its first line.
    fn repair_block_text(
        &mut self,
        at: usize,
        end: usize,
        entry: &KeyLine<'_>,
        mark: char,
    ) -> usize {
        let rest = entry.value.trim_start_matches(['|', '>']);
        let chomp: String = rest
            .chars()
            .take_while(|c| matches!(c, '+' | '-'))
            .take(1)
            .collect();
        let text = rest.get(chomp.len()..).unwrap_or_default().trim();
        let next = self.lines.get(at + 1..end).unwrap_or_default();
        let indent = next
            .iter()
            .find(|line| !line.trim().is_empty())
            .map_or(entry.indent + 2, |line| leading_blanks(line));
        self.repairs.push(Repair {
            line: at,
            kind: RepairKind::BlockText,
        });
        self.out.push((format!("{} {mark}{chomp}", entry.head), at));
        self.out.push((format!("{:indent$}{text}", ""), at));
        self.keep_lines(at + 1, end)
    }

    /// The line after the last one that is indented below an entry.
    fn end_of_value(&self, at: usize, indent: usize) -> usize {
        let below = |line: &&&str| line.trim().is_empty() || leading_blanks(line) > indent;
        let more = self.lines.get(at + 1..).unwrap_or_default();
        let mut end = at + 1 + more.iter().take_while(below).count();
        // Blank lines at the end are not part of the value; keep them.
        while end > at + 1 && self.lines.get(end - 1).is_some_and(|l| l.trim().is_empty()) {
            end -= 1;
        }
        end
    }

    /// A plain value over several lines, folded into one.
    fn join_value(&self, at: usize, end: usize, first: &str) -> String {
        let more = self.lines.get(at + 1..end).unwrap_or_default();
        let parts = std::iter::once(first).chain(more.iter().copied());
        parts
            .map(|part| strip_comment(part).trim())
            .collect::<Vec<_>>()
            .join(" ")
            .trim()
            .to_owned()
    }

    /// Whether an entry is valid YAML by itself.
    fn is_valid_alone(&self, at: usize, end: usize, entry: &KeyLine<'_>) -> bool {
        let lines = self.lines.get(at..end).unwrap_or_default();
        // A list item's first key stands after the dash; blanks keep its column.
        let lines: Vec<String> = lines
            .iter()
            .map(|line| match line.get(entry.indent..) {
                Some(rest) => rest.to_owned(),
                None => (*line).trim_start().to_owned(),
            })
            .collect();
        yaml::read(&lines.join("\n"), self.limits).error.is_none()
    }

    fn keep_lines(&mut self, from: usize, to: usize) -> usize {
        for at in from..to {
            if let Some(line) = self.lines.get(at) {
                self.out.push(((*line).to_owned(), at));
            }
        }
        to
    }
}

/// Splits `key: value`, also behind `- `.
fn parse_entry(line: &str) -> Option<KeyLine<'_>> {
    let indent = line.len() - line.trim_start_matches([' ', '-']).len();
    let rest = line.get(indent..)?;
    if rest.starts_with([
        '#', '"', '\'', '[', '{', '|', '>', '@', '`', '%', '&', '*', '!',
    ]) {
        return None;
    }
    let colon = rest
        .find(": ")
        .or_else(|| rest.trim_end().strip_suffix(':').map(str::len))?;
    let head = line.get(..indent + colon + 1)?;
    let value = line.get(indent + colon + 1..)?.trim();
    Some(KeyLine {
        head,
        indent,
        value,
    })
}

/// `|`, `>-`, `|2+ # why`: a block scalar's first line as it should be.
fn is_block_header(value: &str) -> bool {
    let marks = value.trim_start_matches([
        '|', '>', '+', '-', '1', '2', '3', '4', '5', '6', '7', '8', '9',
    ]);
    let header_len = value.len() - marks.len();
    header_len <= 3 && (marks.trim().is_empty() || marks.starts_with(" #"))
}

fn strip_comment(text: &str) -> &str {
    text.find(" #")
        .and_then(|at| text.get(..at))
        .unwrap_or(text)
}

fn leading_blanks(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, json: &str) {
        let limits = BundleLimits::default();
        assert!(
            yaml::read(text, &limits).error.is_some(),
            "not broken: {text}"
        );
        let repaired = repair(text, &limits).expect("nothing to mend");
        let reading = yaml::read(&repaired.text, &limits);
        assert_eq!(reading.error, None, "{}", repaired.text);
        assert_eq!(reading.root.unwrap().to_json().to_string(), json);
        assert_eq!(repaired.text.split('\n').count(), repaired.lines.len());
    }

    #[test]
    fn a_colon_in_a_value_is_text() {
        check("a: Use when: x\nb: 'c'\n", r#"{"a":"Use when: x","b":"c"}"#);
        check("a: it's: so\n", r#"{"a":"it's: so"}"#);
        check("m:\n  a: b: c\n", r#"{"m":{"a":"b: c"}}"#);
        check("l:\n- a: b: c\n  d: e\n", r#"{"l":[{"a":"b: c","d":"e"}]}"#);
    }

    #[test]
    fn a_colon_on_a_continuation_line_is_text() {
        check(
            "a: one\n  two: three\nb: c\n",
            r#"{"a":"one two: three","b":"c"}"#,
        );
    }

    #[test]
    fn text_on_the_line_of_a_block_mark_is_its_first_line() {
        check(
            "a: | Use\n  more: x\nb: c\n",
            r#"{"a":"Use\nmore: x\n","b":"c"}"#,
        );
        check("a: >- Use\nb: c\n", r#"{"a":"Use","b":"c"}"#);
        check("a: |Use it\n", r#"{"a":"Use it\n"}"#);
    }

    #[test]
    fn values_that_start_like_syntax_are_text() {
        check("a: @x\n", r#"{"a":"@x"}"#);
        check("a: **bold** x\n", r#"{"a":"**bold** x"}"#);
        check("a: \"x\" y\n", r#"{"a":"\"x\" y"}"#);
        check("a: [b\n", r#"{"a":"[b"}"#);
    }

    #[test]
    fn block_text_is_never_touched() {
        let text = "a: |\n  x: y: z\nb: c: d\n";
        let repaired = repair(text, &BundleLimits::default()).unwrap();
        assert_eq!(repaired.text, "a: |\n  x: y: z\nb: 'c: d'\n");
        assert_eq!(repaired.repairs.len(), 1);
    }
}
