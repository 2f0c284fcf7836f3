//! The text of a SKILL.md, and places in it.
//!
//! Text is decoded and its line ends made `\n` once, here; every offset, line
//! and column in this crate counts in that normalised text.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::diagnostic::SourceLocation;

/// Text with an index of its lines. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SourceText {
    text: Arc<str>,
    /// Byte offset at which each line starts; never empty. Computed on
    /// first use: a file without problems never needs it.
    lines: Arc<OnceLock<Vec<usize>>>,
    /// Whether the file had `\r\n` or lone `\r` line ends.
    pub(crate) had_carriage_returns: bool,
}

/// The bytes are not UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotUtf8 {
    /// Offset of the first bad byte.
    pub offset: usize,
    /// Line of that byte, from 1.
    pub line: usize,
}

impl SourceText {
    /// Decodes a file. Only UTF-8 is text here, as the standard has it.
    pub fn decode(bytes: &[u8]) -> Result<SourceText, NotUtf8> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(SourceText::new(text)),
            Err(error) => {
                let offset = error.valid_up_to();
                let before = bytes.get(..offset).unwrap_or_default();
                let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
                Err(NotUtf8 { offset, line })
            }
        }
    }

    /// Takes text that is already decoded.
    pub fn new(text: &str) -> SourceText {
        let normal = normalise_line_ends(text);
        let had_carriage_returns = matches!(normal, Cow::Owned(_));
        SourceText {
            text: normal.into(),
            lines: Arc::default(),
            had_carriage_returns,
        }
    }

    fn lines(&self) -> &[usize] {
        self.lines.get_or_init(|| {
            let breaks = memchr::memchr_iter(b'\n', self.text.as_bytes());
            std::iter::once(0).chain(breaks.map(|at| at + 1)).collect()
        })
    }

    /// The whole text, with `\n` line ends.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A part of the text; empty when the range does not fit.
    pub fn slice(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    /// The line (from 1) that holds a byte offset.
    pub fn line_of(&self, offset: usize) -> usize {
        self.lines().partition_point(|&start| start <= offset)
    }

    /// The bytes of a line (from 1), without its line end.
    pub fn line_range(&self, line: usize) -> Range<usize> {
        let end_of_text = self.text.len();
        let start = self.line_start(line).unwrap_or(end_of_text);
        let end = self
            .line_start(line + 1)
            .map_or(end_of_text, |next| next - 1);
        start..end
    }

    fn line_start(&self, line: usize) -> Option<usize> {
        self.lines().get(line.checked_sub(1)?).copied()
    }

    /// The place of a byte range.
    pub fn location(&self, range: Range<usize>) -> SourceLocation {
        let line = self.line_of(range.start);
        let line_start = self.line_range(line).start;
        SourceLocation {
            line,
            column: 1 + self.slice(line_start..range.start).chars().count(),
            start: range.start,
            end: range.end.max(range.start),
        }
    }

    /// The place of the first visible characters of a line (from 1).
    pub fn line_location(&self, line: usize) -> SourceLocation {
        let range = self.line_range(line);
        let indent = self.slice(range.clone()).len() - self.slice(range.clone()).trim_start().len();
        self.location(range.start + indent..range.end)
    }
}

/// `\r\n` and lone `\r` become `\n`, as a text-mode read would have it.
fn normalise_line_ends(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\r', text.as_bytes()).is_some() {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_and_lines_from_one() {
        let source = SourceText::new("aé\r\nüx\n");
        let at = source.text().find('x').unwrap();
        let place = source.location(at..at + 1);
        assert_eq!((place.line, place.column), (2, 2));
        assert_eq!(source.slice(source.line_range(2)), "üx");
        assert_eq!(source.slice(source.line_range(9)), "");
    }

    #[test]
    fn bytes_that_are_not_utf8_name_their_line() {
        let error = SourceText::decode(b"ok\nbad \xff").unwrap_err();
        assert_eq!((error.line, error.offset), (2, 7));
    }
}
