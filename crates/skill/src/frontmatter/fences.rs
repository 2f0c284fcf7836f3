//! Where the frontmatter starts and ends.
//!
//! The closing fence is the first *line* that begins with `---`, so a `---`
//! inside a value never cuts it short.

use std::ops::Range;

use super::source::SourceText;

/// A byte-order mark, which editors on some platforms put first.
const BOM: char = '\u{feff}';
const FENCE: &str = "---";

/// The parts of a SKILL.md, as byte ranges of its [`Source`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fences {
    /// The text before the opening fence: empty in a strict file.
    pub(super) lead: Range<usize>,
    /// Between the fences: starts right after the opening dashes.
    pub(super) yaml: Range<usize>,
    /// After the closing dashes.
    pub(super) body: Range<usize>,
}

/// Why there is no frontmatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FenceError {
    /// The text does not begin with an opening fence.
    NotOpened,
    /// An opening fence without a closing one.
    NotClosed,
}

/// Finds the fences of a file that must begin with one. A byte-order mark is no
/// text, so it may stand before.
pub(super) fn strict(source: &SourceText) -> Result<Fences, FenceError> {
    let bom = if source.text().starts_with(BOM) {
        BOM.len_utf8()
    } else {
        0
    };
    find_fences(source, bom)
}

/// Finds the fences after a byte-order mark and blank lines.
pub(super) fn lenient(source: &SourceText) -> Result<Fences, FenceError> {
    let text = source.text();
    let visible = text.trim_start_matches(|c: char| c == BOM || c.is_whitespace());
    find_fences(source, text.len() - visible.len())
}

fn find_fences(source: &SourceText, start: usize) -> Result<Fences, FenceError> {
    let text = source.text();
    let Some(rest) = text.get(start..).and_then(|t| t.strip_prefix(FENCE)) else {
        return Err(FenceError::NotOpened);
    };
    let yaml_start = start + FENCE.len();
    let Some(close) = rest.find("\n---") else {
        return Err(FenceError::NotClosed);
    };
    let yaml_end = yaml_start + close + 1;
    Ok(Fences {
        lead: 0..start,
        yaml: yaml_start..yaml_end,
        body: yaml_end + FENCE.len()..text.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml_text(text: &str) -> Result<String, FenceError> {
        let source = SourceText::new(text);
        lenient(&source).map(|f| source.slice(f.yaml).to_owned())
    }

    #[test]
    fn dashes_inside_a_value_do_not_close_the_frontmatter() {
        assert_eq!(
            yaml_text("---\na: b --- c\n---\n"),
            Ok("\na: b --- c\n".into())
        );
        assert_eq!(yaml_text("---\na: b --- c\n"), Err(FenceError::NotClosed));
    }

    #[test]
    fn only_the_lenient_search_looks_past_marks_and_blank_lines() {
        let text = "\u{feff}\n \n---\na: b\n---\n";
        assert_eq!(yaml_text(text), Ok("\na: b\n".into()));
        assert_eq!(strict(&SourceText::new(text)), Err(FenceError::NotOpened));
        let marked = SourceText::new("\u{feff}---\na: b\n---\n");
        assert_eq!(strict(&marked).map(|f| f.yaml), Ok(6..12));
    }

    #[test]
    fn an_empty_frontmatter_is_one() {
        assert_eq!(yaml_text("---\n---"), Ok("\n".into()));
    }
}
