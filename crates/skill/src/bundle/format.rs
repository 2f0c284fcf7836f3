//! Detects the format of an archive by its content, never by a name or a header.

use super::zip;

/// What an upload turned out to be.
pub(super) enum ArchiveFormat {
    Zip,
    Gzip,
    /// Something else, in words that complete "the bundle is …".
    Other(&'static str),
}

/// First bytes of what people send by mistake.
const OTHER_SIGNATURES: &[(&[u8], &str)] = &[
    (b"BZh", "compressed with bzip2"),
    (b"\xfd7zXZ\0", "compressed with xz"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a rar archive"),
    (b"%PDF-", "a PDF"),
    (b"---", "plain text, maybe a bare SKILL.md"),
    (b"\xef\xbb\xbf---", "plain text, maybe a bare SKILL.md"),
    (b"<", "HTML or XML"),
    (b"{", "JSON"),
];

impl ArchiveFormat {
    pub(super) fn detect(bytes: &[u8]) -> Self {
        if bytes.starts_with(b"PK\x03\x04") {
            return ArchiveFormat::Zip;
        }
        if bytes.starts_with(b"\x1f\x8b") {
            return ArchiveFormat::Gzip;
        }
        // Last, so that a zip behind other bytes is refused as such by its reader.
        if zip::has_end(bytes) {
            return ArchiveFormat::Zip;
        }
        ArchiveFormat::Other(describe_format(bytes))
    }
}

fn describe_format(bytes: &[u8]) -> &'static str {
    let known = OTHER_SIGNATURES
        .iter()
        .find(|(magic, _)| bytes.starts_with(magic));
    match known {
        Some((_, what)) => what,
        None if bytes.is_empty() => "empty",
        None if bytes.get(257..262) == Some(b"ustar") => "an uncompressed tar",
        None => "in an unknown archive format",
    }
}
