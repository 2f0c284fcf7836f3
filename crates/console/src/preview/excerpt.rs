//! The beginning of a text, within limits.

/// Lines of a text that are shown, and bytes of all of them.
const MAX_LINES: usize = 400;
const MAX_BYTES: usize = 48 << 10;

/// The beginning of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextExcerpt {
    pub(crate) text: String,
    /// Whether there is more.
    pub(crate) is_cut: bool,
}

impl TextExcerpt {
    /// Keeps what fits. `is_whole`: whether `text` is all there is.
    pub(crate) fn new(text: &str, is_whole: bool) -> TextExcerpt {
        let mut kept = 0;
        for line in text.split_inclusive('\n').take(MAX_LINES) {
            if kept + line.len() > MAX_BYTES {
                kept = floor_char_boundary(text, MAX_BYTES);
                break;
            }
            kept += line.len();
        }
        TextExcerpt {
            text: text.get(..kept).unwrap_or_default().to_owned(),
            is_cut: kept < text.len() || !is_whole,
        }
    }
}

/// The last place before `max` where a character ends.
fn floor_char_boundary(text: &str, max: usize) -> usize {
    let mut at = max.min(text.len());
    while at > 0 && !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_line_or_at_a_character() {
        let short = TextExcerpt::new("one\ntwo", true);
        assert_eq!((short.text.as_str(), short.is_cut), ("one\ntwo", false));
        assert!(TextExcerpt::new("one", false).is_cut);
        let lines = TextExcerpt::new(&"x\n".repeat(1000), true);
        assert_eq!((lines.text.lines().count(), lines.is_cut), (400, true));
        let wide = TextExcerpt::new(&"ü".repeat(40_000), true);
        assert!(wide.is_cut && wide.text.len() <= MAX_BYTES);
        assert!(wide.text.chars().all(|one| one == 'ü'));
    }
}
