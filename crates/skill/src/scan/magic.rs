//! Detects a file's format by its first bytes, whatever its name.

/// A known binary format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileMagic {
    /// Machine code: ELF, PE, Mach-O.
    Executable(&'static str),
    /// Code for a virtual machine.
    Bytecode(&'static str),
    /// A container of other files.
    Archive(&'static str),
    /// An Office document that is a zip.
    OfficeZip,
    /// An Office document of the old binary kind.
    OfficeOle,
    Pdf,
    /// Pictures, sound, film, fonts: opaque but inert.
    Media(&'static str),
    /// Unknown.
    Unknown,
}

impl FileMagic {
    /// The format's name, for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            FileMagic::Executable(name)
            | FileMagic::Bytecode(name)
            | FileMagic::Archive(name)
            | FileMagic::Media(name) => name,
            FileMagic::OfficeZip => "Office document",
            FileMagic::OfficeOle => "old Office document",
            FileMagic::Pdf => "PDF",
            FileMagic::Unknown => "unknown binary",
        }
    }

    /// The format of `data`, or `Unknown`.
    pub(crate) fn detect(data: &[u8]) -> FileMagic {
        if data.starts_with(b"PK\x03\x04") {
            return zip_kind(data);
        }
        if data.get(257..262) == Some(b"ustar") {
            return FileMagic::Archive("tar archive");
        }
        if is_portable_executable(data) {
            return FileMagic::Executable("Windows program");
        }
        if data.get(..4) == Some(b"RIFF") {
            return match data.get(8..12) {
                Some(b"WEBP") => FileMagic::Media("WebP"),
                Some(b"WAVE") => FileMagic::Media("WAV"),
                _ => FileMagic::Unknown,
            };
        }
        if data.get(4..8) == Some(b"ftyp") {
            return FileMagic::Media("MP4");
        }
        SIGNATURES
            .iter()
            .find(|(signature, _)| data.starts_with(signature))
            .map_or(FileMagic::Unknown, |(_, magic)| *magic)
    }
}

const SIGNATURES: &[(&[u8], FileMagic)] = &[
    (b"\x7fELF", FileMagic::Executable("ELF program")),
    (b"\xfe\xed\xfa\xce", FileMagic::Executable("Mach-O program")),
    (b"\xfe\xed\xfa\xcf", FileMagic::Executable("Mach-O program")),
    (b"\xce\xfa\xed\xfe", FileMagic::Executable("Mach-O program")),
    (b"\xcf\xfa\xed\xfe", FileMagic::Executable("Mach-O program")),
    (
        b"\xca\xfe\xba\xbe",
        FileMagic::Executable("Mach-O program or Java class"),
    ),
    (b"\x00asm", FileMagic::Bytecode("WebAssembly")),
    (b"dex\n", FileMagic::Bytecode("Android bytecode")),
    (b"\x1b\x4c\x75\x61", FileMagic::Bytecode("Lua bytecode")),
    (b"\x1f\x8b", FileMagic::Archive("gzip")),
    (b"BZh", FileMagic::Archive("bzip2")),
    (b"\xfd7zXZ\x00", FileMagic::Archive("xz")),
    (b"\x28\xb5\x2f\xfd", FileMagic::Archive("zstd")),
    (b"7z\xbc\xaf\x27\x1c", FileMagic::Archive("7-Zip archive")),
    (b"Rar!\x1a\x07", FileMagic::Archive("RAR archive")),
    (b"PK\x05\x06", FileMagic::Archive("zip archive")),
    (b"!<arch>\n", FileMagic::Archive("ar archive")),
    (b"xar!", FileMagic::Archive("xar archive")),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileMagic::OfficeOle),
    (b"%PDF-", FileMagic::Pdf),
    (b"\x89PNG\r\n\x1a\n", FileMagic::Media("PNG")),
    (b"\xff\xd8\xff", FileMagic::Media("JPEG")),
    (b"GIF8", FileMagic::Media("GIF")),
    (b"II*\x00", FileMagic::Media("TIFF")),
    (b"MM\x00*", FileMagic::Media("TIFF")),
    (b"\x00\x00\x01\x00", FileMagic::Media("icon")),
    (b"ID3", FileMagic::Media("MP3")),
    (b"\xff\xfb", FileMagic::Media("MP3")),
    (b"OggS", FileMagic::Media("Ogg")),
    (b"fLaC", FileMagic::Media("FLAC")),
    (b"\x1aE\xdf\xa3", FileMagic::Media("Matroska")),
    (b"\x00\x01\x00\x00\x00", FileMagic::Media("font")),
    (b"OTTO", FileMagic::Media("font")),
    (b"ttcf", FileMagic::Media("font")),
    (b"wOFF", FileMagic::Media("font")),
    (b"wOF2", FileMagic::Media("font")),
];

/// Text can start with `MZ` too; the PE header it points to is conclusive.
fn is_portable_executable(data: &[u8]) -> bool {
    if !data.starts_with(b"MZ") {
        return false;
    }
    let Some(&[a, b, c, d]) = data.get(0x3c..0x40) else {
        return false;
    };
    let header = u32::from_le_bytes([a, b, c, d]) as usize;
    let end = header.saturating_add(4);
    data.get(header..end) == Some(b"PE\0\0")
}

/// An Office document names its content types first.
fn zip_kind(data: &[u8]) -> FileMagic {
    let head = data.get(..4096.min(data.len())).unwrap_or_default();
    let has = |needle: &[u8]| head.windows(needle.len()).any(|window| window == needle);
    if has(b"[Content_Types].xml") || has(b"mimetypeapplication/vnd.oasis") {
        FileMagic::OfficeZip
    } else {
        FileMagic::Archive("zip archive")
    }
}
