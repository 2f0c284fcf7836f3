//! Truncation of text, marked wherever it happens.

/// The longest start of `text` with at most `max_bytes` bytes.
pub(crate) fn prefix_within(text: &str, max_bytes: usize) -> &str {
    let end = text.floor_char_boundary(max_bytes);
    text.get(..end).unwrap_or_default()
}

/// The longest end of `text` with at most `max_bytes` bytes.
fn suffix_within(text: &str, max_bytes: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(max_bytes));
    text.get(start..).unwrap_or_default()
}

/// The text, or its beginning and end if it is too long: in results either can matter.
pub(crate) fn cut_middle(text: String, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text;
    }
    let (head, tail) = (
        prefix_within(&text, max_bytes / 2),
        suffix_within(&text, max_bytes / 2),
    );
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[{left_out} bytes are left out here]\n{tail}")
}

/// The text, or its beginning if it is too long.
pub(crate) fn cut_end(text: &str, max_bytes: usize) -> String {
    let kept = prefix_within(text, max_bytes);
    if kept.len() == text.len() {
        return text.to_owned();
    }
    format!("{}…", kept.trim_end())
}

/// `text` as one word of a command line: for display, never for execution.
pub(crate) fn shell_quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Program and arguments as one line: for display, never for execution.
pub(crate) fn command_line<'a>(argv: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = argv.into_iter().map(shell_quote).collect();
    words.join(" ")
}

/// Names in backticks, and the number of omitted ones.
pub(crate) fn list_names<'a>(names: impl IntoIterator<Item = &'a str>, max: usize) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let mut shown: Vec<String> = names.iter().take(max).map(|n| format!("`{n}`")).collect();
    if names.len() > max {
        shown.push(format!("and {} more", names.len() - max));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_falls_between_characters_and_is_named() {
        assert_eq!(cut_middle("short".into(), 9), "short");
        let cut = cut_middle("ääääbbbbcccc".into(), 6);
        assert_eq!(cut, "ä\n[11 bytes are left out here]\nccc");
        assert_eq!(cut_end("grüße", 3), "gr…");
        assert_eq!(prefix_within("ü", 1), "");
    }

    #[test]
    fn words_are_quoted_only_when_a_shell_would_split_them() {
        let line = command_line(["python3", "/skills/a/x.py", "two words", "it's", ""]);
        assert_eq!(line, r"python3 /skills/a/x.py 'two words' 'it'\''s' ''");
    }
}
