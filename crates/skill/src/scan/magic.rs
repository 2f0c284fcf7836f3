//! What a file is by its first bytes, whatever its name says.

/// A binary format the scanner knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Magic {
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
    /// Nothing known.
    Unknown,
}

impl Magic {
    /// The format's name, for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Magic::Executable(name)
            | Magic::Bytecode(name)
            | Magic::Archive(name)
            | Magic::Media(name) => name,
            Magic::OfficeZip => "Office document",
            Magic::OfficeOle => "old Office document",
            Magic::Pdf => "PDF",
            Magic::Unknown => "unknown binary",
        }
    }

    /// The format of `data`, or `Unknown`.
    pub(crate) fn of(data: &[u8]) -> Magic {
        if data.starts_with(b"PK\x03\x04") {
            return zip_kind(data);
        }
        if data.get(257..262) == Some(b"ustar") {
            return Magic::Archive("tar archive");
        }
        if is_portable_executable(data) {
            return Magic::Executable("Windows program");
        }
        if data.get(..4) == Some(b"RIFF") {
            return match data.get(8..12) {
                Some(b"WEBP") => Magic::Media("WebP"),
                Some(b"WAVE") => Magic::Media("WAV"),
                _ => Magic::Unknown,
            };
        }
        if data.get(4..8) == Some(b"ftyp") {
            return Magic::Media("MP4");
        }
        SIGNATURES
            .iter()
            .find(|(signature, _)| data.starts_with(signature))
            .map_or(Magic::Unknown, |(_, magic)| *magic)
    }
}

const SIGNATURES: &[(&[u8], Magic)] = &[
    (b"\x7fELF", Magic::Executable("ELF program")),
    (b"\xfe\xed\xfa\xce", Magic::Executable("Mach-O program")),
    (b"\xfe\xed\xfa\xcf", Magic::Executable("Mach-O program")),
    (b"\xce\xfa\xed\xfe", Magic::Executable("Mach-O program")),
    (b"\xcf\xfa\xed\xfe", Magic::Executable("Mach-O program")),
    (
        b"\xca\xfe\xba\xbe",
        Magic::Executable("Mach-O program or Java class"),
    ),
    (b"\x00asm", Magic::Bytecode("WebAssembly")),
    (b"dex\n", Magic::Bytecode("Android bytecode")),
    (b"\x1b\x4c\x75\x61", Magic::Bytecode("Lua bytecode")),
    (b"\x1f\x8b", Magic::Archive("gzip")),
    (b"BZh", Magic::Archive("bzip2")),
    (b"\xfd7zXZ\x00", Magic::Archive("xz")),
    (b"\x28\xb5\x2f\xfd", Magic::Archive("zstd")),
    (b"7z\xbc\xaf\x27\x1c", Magic::Archive("7-Zip archive")),
    (b"Rar!\x1a\x07", Magic::Archive("RAR archive")),
    (b"PK\x05\x06", Magic::Archive("zip archive")),
    (b"!<arch>\n", Magic::Archive("ar archive")),
    (b"xar!", Magic::Archive("xar archive")),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Magic::OfficeOle),
    (b"%PDF-", Magic::Pdf),
    (b"\x89PNG\r\n\x1a\n", Magic::Media("PNG")),
    (b"\xff\xd8\xff", Magic::Media("JPEG")),
    (b"GIF8", Magic::Media("GIF")),
    (b"II*\x00", Magic::Media("TIFF")),
    (b"MM\x00*", Magic::Media("TIFF")),
    (b"\x00\x00\x01\x00", Magic::Media("icon")),
    (b"ID3", Magic::Media("MP3")),
    (b"\xff\xfb", Magic::Media("MP3")),
    (b"OggS", Magic::Media("Ogg")),
    (b"fLaC", Magic::Media("FLAC")),
    (b"\x1aE\xdf\xa3", Magic::Media("Matroska")),
    (b"\x00\x01\x00\x00\x00", Magic::Media("font")),
    (b"OTTO", Magic::Media("font")),
    (b"ttcf", Magic::Media("font")),
    (b"wOFF", Magic::Media("font")),
    (b"wOF2", Magic::Media("font")),
];

/// `MZ` alone begins many a text; the PE header it points to does not.
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
fn zip_kind(data: &[u8]) -> Magic {
    let head = data.get(..4096.min(data.len())).unwrap_or_default();
    let has = |needle: &[u8]| head.windows(needle.len()).any(|window| window == needle);
    if has(b"[Content_Types].xml") || has(b"mimetypeapplication/vnd.oasis") {
        Magic::OfficeZip
    } else {
        Magic::Archive("zip archive")
    }
}
