//! Why bytes are not a skill's bundle: one reason each, with a stable code.

use std::fmt;

use crate::path::{PathError, PathRule, quote_name};

/// Why bytes are not a skill's bundle, and which entry of them showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleError {
    entry: Option<String>,
    kind: BundleErrorKind,
}

impl BundleError {
    /// An error that one entry shows.
    pub fn at(entry: impl AsRef<[u8]>, kind: BundleErrorKind) -> Self {
        BundleError {
            entry: Some(quote_name(entry.as_ref())),
            kind,
        }
    }

    /// The entry at fault, quoted, escaped and cut to a readable length; none when
    /// the fault is the archive's as a whole.
    pub fn entry(&self) -> Option<&str> {
        self.entry.as_deref()
    }

    /// What is wrong.
    pub fn kind(&self) -> &BundleErrorKind {
        &self.kind
    }

    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }
}

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.entry {
            Some(entry) => write!(f, "{entry} {}", self.kind),
            None => write!(f, "the bundle {}", self.kind),
        }
    }
}

impl std::error::Error for BundleError {}

impl From<BundleErrorKind> for BundleError {
    fn from(reason: BundleErrorKind) -> Self {
        BundleError {
            entry: None,
            kind: reason,
        }
    }
}

impl From<PathError> for BundleError {
    fn from(error: PathError) -> Self {
        BundleError {
            entry: Some(error.name().to_owned()),
            kind: BundleErrorKind::Path(*error.rule()),
        }
    }
}

/// A problem of a bundle. Each message is the end of a sentence that begins
/// with the name of the entry, or with "the bundle".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleErrorKind {
    // What it costs.
    /// More bytes than [`BundleLimits::archive_bytes`](crate::BundleLimits::archive_bytes).
    #[error("has {size} bytes, more than the {limit} allowed; leave files out or shrink them")]
    ArchiveTooLarge {
        /// As sent.
        size: u64,
        /// As allowed.
        limit: u64,
    },
    /// More than [`BundleLimits::entries`](crate::BundleLimits::entries).
    #[error("has more than {0} entries; leave some out")]
    TooManyEntries(usize),
    /// More than [`BundleLimits::files`](crate::BundleLimits::files).
    #[error("has more than {0} files; leave some out")]
    TooManyFiles(usize),
    /// More than [`BundleLimits::file_bytes`](crate::BundleLimits::file_bytes).
    #[error("is larger than the {0} bytes one file may have; shrink it or leave it out")]
    FileTooLarge(u64),
    /// More than [`BundleLimits::total_bytes`](crate::BundleLimits::total_bytes).
    #[error("would unpack to more than {0} bytes; leave files out or shrink them")]
    TotalTooLarge(u64),
    /// More than [`BundleLimits::ratio`](crate::BundleLimits::ratio).
    #[error("unpacks to more than {0} times its packed size, as archive bombs do")]
    Ratio(u64),
    /// More than [`BundleLimits::directory_bytes`](crate::BundleLimits::directory_bytes).
    #[error("has a zip directory of more than {0} bytes")]
    DirectoryTooLarge(u64),

    // What it is.
    /// Neither zip nor gzip.
    #[error("is {0}; send a zip or a tar.gz")]
    UnknownFormat(&'static str),

    // Names.
    /// A name that breaks the path rules.
    #[error(transparent)]
    Path(PathRule),
    /// A name that is not text.
    #[error("has a name that is not UTF-8; rename the file or pack it with another tool")]
    NameNotUtf8,
    /// Two names for one entry.
    #[error("carries a second name that differs from the first; pack it with another tool")]
    NameAmbiguous,
    /// The same path twice.
    #[error("is in the archive twice; keep one")]
    Duplicate,
    /// Two paths that are the same file on some disks.
    #[error(
        "and {0} differ only in case or Unicode form, and are one file on some disks; rename one of them"
    )]
    Collision(String),
    /// The same path as a file and as a folder.
    #[error("is both a file and a folder; rename one of them")]
    FileAndFolder,

    // Kinds of entry.
    /// Symbolic or hard.
    #[error("is a {0} link; put the file itself there")]
    Link(&'static str),
    /// Device, pipe, socket or something unheard of.
    #[error("is a {0}; a skill contains only files and folders")]
    SpecialFile(&'static str),
    /// A file with holes.
    #[error("is a sparse file; pack it without `--sparse`")]
    Sparse,
    /// A folder with content.
    #[error("is a folder but has content")]
    FolderWithData,

    // Zip.
    /// No end record.
    #[error("has no zip end record; it is truncated or not a zip")]
    ZipNoEnd,
    /// Bytes after the end record.
    #[error("has bytes after its zip end record; pack it again")]
    ZipTrailing,
    /// More than one record that claims the end.
    #[error("has two zip end records, so that tools disagree on what is inside; pack it again")]
    ZipSeveralEnds,
    /// Bytes before the first entry.
    #[error("has bytes before its first zip entry; send the plain archive")]
    ZipPrefix,
    /// Bytes between entries that belong to none.
    #[error("follows bytes in the archive that belong to no entry; pack it again")]
    ZipGap,
    /// Shares bytes with another entry.
    #[error("shares bytes of the archive with another entry, as archive bombs do")]
    ZipOverlap,
    /// The end record and the directory disagree.
    #[error("has a zip directory that contradicts itself: {0}; pack it again")]
    ZipDirectory(&'static str),
    /// 64-bit zip.
    #[error("is a ZIP64 archive, which nothing this small needs; pack it without ZIP64")]
    Zip64,
    /// In parts.
    #[error("is one part of a split zip; send it in one piece")]
    ZipSplit,
    /// Encrypted.
    #[error("is encrypted; pack it without a password")]
    Encrypted,
    /// Neither stored nor deflated.
    #[error("is packed by method {0}; use store or deflate")]
    Method(u16),
    /// Flags that change how an entry is read.
    #[error("has zip flags {0:#06x}, of which some are unknown; pack it with another tool")]
    Flags(u16),
    /// Local and central header disagree.
    #[error("has two zip headers that disagree on its {0}; pack it again")]
    HeaderMismatch(&'static str),
    /// An inconsistent header.
    #[error("has a broken zip header: {0}")]
    ZipHeader(&'static str),
    /// More or fewer bytes than stated.
    #[error("does not unpack to the {0} bytes it states")]
    SizeMismatch(u64),
    /// CRC-32.
    #[error("does not match its checksum; the archive is damaged")]
    Checksum,
    /// The packed bytes do not unpack.
    #[error("cannot be unpacked: {0}")]
    Corrupt(String),

    // Gzip and tar.
    /// The compressed stream does not unpack.
    #[error("cannot be unpacked as gzip: {0}")]
    GzipCorrupt(String),
    /// A second stream after the first.
    #[error("has more than one gzip stream, of which some tools read only the first")]
    GzipMembers,
    /// Bytes after the stream.
    #[error("has bytes after its gzip stream; pack it again")]
    GzipTrailing,
    /// An inconsistent header.
    #[error("has a broken tar header: {0}")]
    TarHeader(String),
    /// Fewer bytes than stated.
    #[error("ends before the {0} bytes it states")]
    TarTruncated(u64),
    /// Something after the end mark.
    #[error("has bytes after the end of its tar archive; pack it again")]
    TarTrailing,
    /// More than [`BundleLimits::extension_bytes`](crate::BundleLimits::extension_bytes).
    #[error("has a tar extension header of more than {0} bytes")]
    ExtensionTooLarge(u64),
    /// An extension header that is malformed, misplaced or contradicts the entry.
    #[error("has a tar extension header that {0}")]
    Extension(&'static str),

    // Where the skill is.
    /// No `SKILL.md`.
    #[error("has no SKILL.md; it contains {0}")]
    NoSkillFile(String),
    /// More than one skill.
    #[error("contains several skills: {0}; send one at a time")]
    SeveralSkills(String),
    /// `SKILL.md` too far down.
    #[error("is too deep; SKILL.md must be at the top or in the one top folder")]
    SkillTooDeep,
    /// Files beside the skill's folder.
    #[error("is outside the skill's folder {0}; move it in or leave it out")]
    Stray(String),
}

impl BundleErrorKind {
    /// Stable identifier of the reason; never reused for another meaning.
    pub fn code(&self) -> &'static str {
        match self {
            BundleErrorKind::ArchiveTooLarge { .. } => "archive-too-large",
            BundleErrorKind::TooManyEntries(_) => "too-many-entries",
            BundleErrorKind::TooManyFiles(_) => "too-many-files",
            BundleErrorKind::FileTooLarge(_) => "file-too-large",
            BundleErrorKind::TotalTooLarge(_) => "total-too-large",
            BundleErrorKind::Ratio(_) => "compression-ratio",
            BundleErrorKind::DirectoryTooLarge(_) => "zip-directory-too-large",
            BundleErrorKind::UnknownFormat(_) => "unknown-format",
            BundleErrorKind::Path(rule) => rule.code(),
            BundleErrorKind::NameNotUtf8 => "name-not-utf8",
            BundleErrorKind::NameAmbiguous => "name-ambiguous",
            BundleErrorKind::Duplicate => "duplicate-entry",
            BundleErrorKind::Collision(_) => "name-collision",
            BundleErrorKind::FileAndFolder => "file-and-folder",
            BundleErrorKind::Link(_) => "link",
            BundleErrorKind::SpecialFile(_) => "special-file",
            BundleErrorKind::Sparse => "sparse-file",
            BundleErrorKind::FolderWithData => "folder-with-data",
            BundleErrorKind::ZipNoEnd => "zip-no-end",
            BundleErrorKind::ZipTrailing => "zip-trailing-bytes",
            BundleErrorKind::ZipSeveralEnds => "zip-several-ends",
            BundleErrorKind::ZipPrefix => "zip-leading-bytes",
            BundleErrorKind::ZipGap => "zip-gap",
            BundleErrorKind::ZipOverlap => "zip-overlap",
            BundleErrorKind::ZipDirectory(_) => "zip-directory",
            BundleErrorKind::Zip64 => "zip64",
            BundleErrorKind::ZipSplit => "zip-split",
            BundleErrorKind::Encrypted => "encrypted",
            BundleErrorKind::Method(_) => "zip-method",
            BundleErrorKind::Flags(_) => "zip-flags",
            BundleErrorKind::HeaderMismatch(_) => "zip-header-mismatch",
            BundleErrorKind::ZipHeader(_) => "zip-header",
            BundleErrorKind::SizeMismatch(_) => "size-mismatch",
            BundleErrorKind::Checksum => "checksum",
            BundleErrorKind::Corrupt(_) => "corrupt",
            BundleErrorKind::GzipCorrupt(_) => "gzip-corrupt",
            BundleErrorKind::GzipMembers => "gzip-members",
            BundleErrorKind::GzipTrailing => "gzip-trailing-bytes",
            BundleErrorKind::TarHeader(_) => "tar-header",
            BundleErrorKind::TarTruncated(_) => "tar-truncated",
            BundleErrorKind::TarTrailing => "tar-trailing-bytes",
            BundleErrorKind::ExtensionTooLarge(_) => "tar-extension-too-large",
            BundleErrorKind::Extension(_) => "tar-extension",
            BundleErrorKind::NoSkillFile(_) => "no-skill-file",
            BundleErrorKind::SeveralSkills(_) => "several-skills",
            BundleErrorKind::SkillTooDeep => "skill-too-deep",
            BundleErrorKind::Stray(_) => "stray-file",
        }
    }
}
