//! The type of a generated file, first by its content, then by its name.

/// Bytes of a file that are examined.
pub(super) const HEAD_BYTES: usize = 512;

/// Unambiguous signatures, with their offsets.
const SIGNATURES: [(usize, &[u8], &str); 19] = [
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"OggS", "audio/ogg"),
    (0, b"ID3", "audio/mpeg"),
    (8, b"WAVE", "audio/wav"),
    (4, b"ftyp", "video/mp4"),
    (0, b"PAR1", "application/vnd.apache.parquet"),
    (0, b"\x7fELF", "application/x-executable"),
];

/// Names of zip archives that are documents.
const ZIP_BASED_TYPES: [(&str, &str); 7] = [
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("epub", "application/epub+zip"),
    ("jar", "application/java-archive"),
];

/// Names of text files.
const TEXT_TYPES: [(&str, &str); 17] = [
    ("csv", "text/csv"),
    ("css", "text/css"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("md", "text/markdown"),
    ("py", "text/x-python"),
    ("sh", "application/x-sh"),
    ("svg", "image/svg+xml"),
    ("toml", "application/toml"),
    ("tsv", "text/tab-separated-values"),
    ("ipynb", "application/x-ipynb+json"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// The type of a file of this name that begins with these bytes.
#[must_use]
pub fn guess(name: &str, head: &[u8]) -> &'static str {
    let extension = name
        .rsplit_once('.')
        .map(|(_, end)| end.to_ascii_lowercase());
    let by_name = |table: &[(&str, &'static str)]| {
        let extension = extension.as_deref()?;
        table
            .iter()
            .find(|(known, _)| *known == extension)
            .map(|(_, mime)| *mime)
    };
    if head.starts_with(b"PK\x03\x04") {
        return by_name(&ZIP_BASED_TYPES).unwrap_or("application/zip");
    }
    let signed = |(offset, signature, _): &&(usize, &[u8], &str)| {
        head.get(*offset..)
            .is_some_and(|rest| rest.starts_with(signature))
    };
    if let Some((_, _, mime)) = SIGNATURES.iter().find(signed) {
        return mime;
    }
    if is_text(head) {
        return by_name(&TEXT_TYPES).unwrap_or("text/plain");
    }
    "application/octet-stream"
}

/// Whether these bytes, perhaps cut within a character, are text.
fn is_text(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    valid && !head.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::guess;

    #[test]
    fn content_wins_over_name() {
        assert_eq!(guess("photo.txt", b"\x89PNG\r\n\x1a\n...."), "image/png");
        assert_eq!(guess("evil.png", b"<script>"), "text/plain");
        assert_eq!(
            guess("a.csv", b"\xff\xfe\x00binary"),
            "application/octet-stream"
        );
    }

    #[test]
    fn names_distinguish_zipped_documents_and_texts() {
        assert!(guess("a.xlsx", b"PK\x03\x04").ends_with("sheet"));
        assert_eq!(guess("a.bin", b"PK\x03\x04"), "application/zip");
        assert_eq!(guess("a.json", b"{}"), "application/json");
        assert_eq!(guess("noext", "h\u{e9}".as_bytes()), "text/plain");
    }
}
