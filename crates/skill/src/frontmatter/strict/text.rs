//! Lines, columns and snippets, as Python's YAML readers print them.

use crate::python::repr;

/// `  in "<unicode string>", line L, column C:` and a snippet with a caret.
pub(super) fn render_mark(text: &str, at: usize) -> String {
    let line = 1 + text.get(..at).unwrap_or_default().matches('\n').count();
    let column = 1 + column(text, at);
    format!(
        "  in \"<unicode string>\", line {line}, column {column}:\n{}",
        render_snippet(text, at, line)
    )
}

/// The line around `at`, cut to about 75 characters, and a caret under it.
fn render_snippet(text: &str, at: usize, line: usize) -> String {
    const INDENT: usize = 4;
    /// How far to either side of the caret the snippet reaches before it is cut.
    const MAX_REACH_CHARS: usize = 36;
    /// What the cut gives up for its dots.
    const CUT_CHARS: usize = 5;
    const DOTS: &str = " ... ";
    let before: Vec<char> = text
        .get(start_of_line(text, at)..at)
        .unwrap_or_default()
        .chars()
        .collect();
    let after: Vec<char> = text
        .get(at..end_of_line(text, at))
        .unwrap_or_default()
        .chars()
        .collect();
    let (head, before) = match before.len() > MAX_REACH_CHARS {
        true => (
            DOTS,
            before
                .iter()
                .skip(before.len() - (MAX_REACH_CHARS + 1) + CUT_CHARS)
                .collect(),
        ),
        false => ("", before.iter().collect::<String>()),
    };
    let (tail, after) = match after.len() > MAX_REACH_CHARS {
        true => (
            DOTS,
            after.iter().take(MAX_REACH_CHARS + 1 - CUT_CHARS).collect(),
        ),
        false => ("", after.iter().collect::<String>()),
    };
    let caret = INDENT + before.chars().count() + head.len();
    format!(
        "{:INDENT$}{head}{before}{after}{tail}\n{:caret$}^ (line: {line})",
        "", ""
    )
}

/// The character at `at` as Python would print it.
pub(super) fn describe_found(text: &str, at: usize) -> String {
    let c = text.get(at..).and_then(|t| t.chars().next());
    c.map_or_else(|| "'\\x00'".to_owned(), |c| repr(&c.to_string()))
}

pub(super) fn start_of_line(text: &str, at: usize) -> usize {
    text.get(..at)
        .and_then(|t| t.rfind('\n'))
        .map_or(0, |end| end + 1)
}

pub(super) fn end_of_line(text: &str, at: usize) -> usize {
    text.get(at..)
        .and_then(|t| t.find('\n'))
        .map_or(text.len(), |end| at + end)
}

pub(super) fn column(text: &str, at: usize) -> usize {
    text.get(start_of_line(text, at)..at)
        .unwrap_or_default()
        .chars()
        .count()
}

pub(super) fn leading_blanks(text: &str, line_start: usize) -> usize {
    let rest = text.get(line_start..).unwrap_or_default();
    rest.len() - rest.trim_start_matches(' ').len()
}
