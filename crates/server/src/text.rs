//! Cuts text to a length.

/// The beginning of a text, of at most so many bytes.
pub(crate) fn truncate(text: &str, max_bytes: usize) -> &str {
    let mut end = text.len().min(max_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_is_cut_in_the_middle() {
        assert_eq!(truncate("aü", 3), "aü");
        assert_eq!(truncate("aü", 2), "a");
        assert_eq!(truncate("ü", 0), "");
    }
}
