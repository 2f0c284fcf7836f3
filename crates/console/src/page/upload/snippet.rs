//! The lines of a file that a remark is about.

/// Lines before and after.
const CONTEXT_LINES: usize = 2;
/// Characters of a line that are shown.
const LINE_CHARS: usize = 200;

/// A line with its number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SnippetLine {
    pub(super) number: usize,
    pub(super) text: String,
    /// Whether the remark is about this one.
    pub(super) is_marked: bool,
}

/// The lines around one, which is counted from 1. None if there is no such line.
pub(super) fn lines(text: &str, line: usize) -> Vec<SnippetLine> {
    let first = line.saturating_sub(CONTEXT_LINES).max(1);
    let shown: Vec<SnippetLine> = (1..)
        .zip(text.lines())
        .skip(first - 1)
        .take_while(|(number, _)| *number <= line + CONTEXT_LINES)
        .map(|(number, text)| SnippetLine {
            number,
            text: text.chars().take(LINE_CHARS).collect(),
            is_marked: number == line,
        })
        .collect();
    if shown.iter().any(|line| line.is_marked) {
        shown
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_with_its_neighbours() {
        let numbers = |line| {
            let shown = lines("a\nb\nc\nd\ne\nf\n", line);
            shown.iter().map(|it| it.number).collect::<Vec<_>>()
        };
        assert_eq!(numbers(1), [1, 2, 3]);
        assert_eq!(numbers(4), [2, 3, 4, 5, 6]);
        assert_eq!(numbers(6), [4, 5, 6]);
        assert_eq!(numbers(7), [0_usize; 0]);
        assert_eq!(numbers(0), [0_usize; 0]);
    }
}
