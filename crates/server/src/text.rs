//! Cuts text to a length.

/// The beginning of a text, of at most so many bytes.
pub(crate) fn truncate(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes))
        .unwrap_or_default()
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
