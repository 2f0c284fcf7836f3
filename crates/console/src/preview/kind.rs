//! What a file is, as far as showing it goes: by its first bytes, and for texts by its name. A
//! name alone makes nothing an image.

/// How a file can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PreviewKind {
    /// A raster image, with its type. SVG is a text here: it can contain scripts.
    Image(&'static str),
    Csv,
    Text,
    Pdf,
    Other,
}

/// Types of images by the bytes they begin with.
const IMAGES: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
];
/// Bytes of a file that are looked at.
const SNIFFED_BYTES: usize = 8 << 10;

impl PreviewKind {
    /// What a file is that has this name and begins so.
    pub(crate) fn detect(name: &str, content: &[u8]) -> PreviewKind {
        if let Some((_, mime)) = IMAGES.iter().find(|(head, _)| content.starts_with(head)) {
            return PreviewKind::Image(mime);
        }
        let is_riff = content.starts_with(b"RIFF");
        if is_riff && content.get(8..12).is_some_and(|kind| kind == b"WEBP") {
            return PreviewKind::Image("image/webp");
        }
        if content.starts_with(b"%PDF-") {
            return PreviewKind::Pdf;
        }
        if content.is_empty() || !is_text(content) {
            return PreviewKind::Other;
        }
        let name = name.to_ascii_lowercase();
        match name.ends_with(".csv") || name.ends_with(".tsv") {
            true => PreviewKind::Csv,
            false => PreviewKind::Text,
        }
    }

    /// The type under which a browser may show the file, if it may.
    pub(crate) fn inline_type(self) -> Option<&'static str> {
        match self {
            PreviewKind::Image(mime) => Some(mime),
            _ => None,
        }
    }
}

/// Whether the beginning of a file is UTF-8 without control characters that no text has.
fn is_text(content: &[u8]) -> bool {
    let head = content.get(..SNIFFED_BYTES).unwrap_or(content);
    let valid = match std::str::from_utf8(head) {
        Ok(_) => true,
        // The last character may be cut.
        Err(error) => error.error_len().is_none() && head.len() - error.valid_up_to() < 4,
    };
    let is_control =
        |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    valid && !head.iter().any(is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_makes_no_image() {
        assert_eq!(PreviewKind::detect("a.png", b"<svg>"), PreviewKind::Text);
        assert_eq!(
            PreviewKind::detect("a.svg", b"<svg onload=x>"),
            PreviewKind::Text
        );
        assert_eq!(PreviewKind::detect("a.html", b"<html>").inline_type(), None);
        let webp = PreviewKind::detect("a", b"RIFF\x01\x02\x03\x04WEBPVP8 ");
        assert_eq!(webp.inline_type(), Some("image/webp"));
    }

    #[test]
    fn bytes_that_are_no_text_are_not_shown() {
        assert_eq!(PreviewKind::detect("a.txt", b"a\0b"), PreviewKind::Other);
        assert_eq!(
            PreviewKind::detect("a.csv", b"\xff\xfe,1"),
            PreviewKind::Other
        );
        assert_eq!(
            PreviewKind::detect("a.txt", "naïve".as_bytes()),
            PreviewKind::Text
        );
        let cut = "ü".as_bytes().get(..1).unwrap();
        assert_eq!(PreviewKind::detect("a.txt", cut), PreviewKind::Text);
        assert_eq!(PreviewKind::detect("a.TSV", b"a\tb\n"), PreviewKind::Csv);
    }
}
