//! Why bytes are not a skill's bundle: one reason each, with a stable code.

use std::fmt;

use crate::path::{PathError, PathRule, quoted};

/// Why bytes are not a skill's bundle, and which entry of them showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleError {
    entry: Option<String>,
    reason: Reason,
}

impl BundleError {
    /// An error that one entry shows.
    pub fn at(entry: impl AsRef<[u8]>, reason: Reason) -> Self {
        BundleError {
            entry: Some(quoted(entry.as_ref())),
            reason,
        }
    }

    /// The entry at fault, quoted, escaped and cut to a readable length; none when
    /// the fault is the archive's as a whole.
    pub fn entry(&self) -> Option<&str> {
        self.entry.as_deref()
    }

    /// What is wrong.
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        self.reason.code()
    }
}

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.entry {
            Some(entry) => write!(f, "{entry} {}", self.reason),
            None => write!(f, "the bundle {}", self.reason),
        }
    }
}

impl std::error::Error for BundleError {}

impl From<Reason> for BundleError {
    fn from(reason: Reason) -> Self {
        BundleError {
            entry: None,
            reason,
        }
    }
}

impl From<PathError> for BundleError {
    fn from(error: PathError) -> Self {
        BundleError {
            entry: Some(error.name().to_owned()),
            reason: Reason::Path(*error.rule()),
        }
    }
}

/// What is wrong with a bundle. Each reads as the end of a sentence that begins
/// with the name of the entry, or with "the bundle".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    // What it costs.
    /// More bytes than [`Limits::archive_bytes`](crate::Limits::archive_bytes).
    #[error("has {size} bytes, more than the {limit} allowed; leave files out or shrink them")]
    ArchiveTooLarge {
        /// As sent.
        size: u64,
        /// As allowed.
        limit: u64,
    },
    /// More than [`Limits::entries`](crate::Limits::entries).
    #[error("has more than {0} entries; leave some out")]
    TooManyEntries(usize),
    /// More than [`Limits::files`](crate::Limits::files).
    #[error("has more than {0} files; leave some out")]
    TooManyFiles(usize),
    /// More than [`Limits::file_bytes`](crate::Limits::file_bytes).
    #[error("is larger than the {0} bytes one file may have; shrink it or leave it out")]
    FileTooLarge(u64),
    /// More than [`Limits::total_bytes`](crate::Limits::total_bytes).
    #[error("would unpack to more than {0} bytes; leave files out or shrink them")]
    TotalTooLarge(u64),
    /// More than [`Limits::ratio`](crate::Limits::ratio).
    #[error("unpacks to more than {0} times its packed size, as archive bombs do")]
    Ratio(u64),
    /// More than [`Limits::directory_bytes`](crate::Limits::directory_bytes).
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
    /// Two paths that some disks take for one.
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
    #[error("is a {0}; a skill holds only files and folders")]
    SpecialFile(&'static str),
    /// A file with holes.
    #[error("is a sparse file; pack it without `--sparse`")]
    Sparse,
    /// A folder with content.
    #[error("is a folder, yet it has content")]
    FolderWithData,

    // Zip.
    /// No end record.
    #[error("has no zip end record; it is cut short or no zip at all")]
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
    /// A header that does not hold together.
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
    /// A header that does not hold together.
    #[error("has a broken tar header: {0}")]
    TarHeader(String),
    /// Fewer bytes than stated.
    #[error("ends before the {0} bytes it states")]
    TarTruncated(u64),
    /// Something after the end mark.
    #[error("has bytes after the end of its tar archive; pack it again")]
    TarTrailing,
    /// More than [`Limits::extension_bytes`](crate::Limits::extension_bytes).
    #[error("has a tar extension header of more than {0} bytes")]
    ExtensionTooLarge(u64),
    /// An extension header that is malformed, misplaced or contradicts the entry.
    #[error("has a tar extension header that {0}")]
    Extension(&'static str),

    // Where the skill is.
    /// No `SKILL.md`.
    #[error("has no SKILL.md; it holds {0}")]
    NoSkillFile(String),
    /// More than one skill.
    #[error("holds several skills: {0}; send one at a time")]
    SeveralSkills(String),
    /// `SKILL.md` too far down.
    #[error("lies too deep; SKILL.md must be at the top or in the one top folder")]
    SkillTooDeep,
    /// Files beside the skill's folder.
    #[error("lies outside the skill's folder {0}; move it in or leave it out")]
    Stray(String),
}

impl Reason {
    /// Stable identifier of the reason; never reused for another meaning.
    pub fn code(&self) -> &'static str {
        match self {
            Reason::ArchiveTooLarge { .. } => "archive-too-large",
            Reason::TooManyEntries(_) => "too-many-entries",
            Reason::TooManyFiles(_) => "too-many-files",
            Reason::FileTooLarge(_) => "file-too-large",
            Reason::TotalTooLarge(_) => "total-too-large",
            Reason::Ratio(_) => "compression-ratio",
            Reason::DirectoryTooLarge(_) => "zip-directory-too-large",
            Reason::UnknownFormat(_) => "unknown-format",
            Reason::Path(rule) => rule.code(),
            Reason::NameNotUtf8 => "name-not-utf8",
            Reason::NameAmbiguous => "name-ambiguous",
            Reason::Duplicate => "duplicate-entry",
            Reason::Collision(_) => "name-collision",
            Reason::FileAndFolder => "file-and-folder",
            Reason::Link(_) => "link",
            Reason::SpecialFile(_) => "special-file",
            Reason::Sparse => "sparse-file",
            Reason::FolderWithData => "folder-with-data",
            Reason::ZipNoEnd => "zip-no-end",
            Reason::ZipTrailing => "zip-trailing-bytes",
            Reason::ZipSeveralEnds => "zip-several-ends",
            Reason::ZipPrefix => "zip-leading-bytes",
            Reason::ZipGap => "zip-gap",
            Reason::ZipOverlap => "zip-overlap",
            Reason::ZipDirectory(_) => "zip-directory",
            Reason::Zip64 => "zip64",
            Reason::ZipSplit => "zip-split",
            Reason::Encrypted => "encrypted",
            Reason::Method(_) => "zip-method",
            Reason::Flags(_) => "zip-flags",
            Reason::HeaderMismatch(_) => "zip-header-mismatch",
            Reason::ZipHeader(_) => "zip-header",
            Reason::SizeMismatch(_) => "size-mismatch",
            Reason::Checksum => "checksum",
            Reason::Corrupt(_) => "corrupt",
            Reason::GzipCorrupt(_) => "gzip-corrupt",
            Reason::GzipMembers => "gzip-members",
            Reason::GzipTrailing => "gzip-trailing-bytes",
            Reason::TarHeader(_) => "tar-header",
            Reason::TarTruncated(_) => "tar-truncated",
            Reason::TarTrailing => "tar-trailing-bytes",
            Reason::ExtensionTooLarge(_) => "tar-extension-too-large",
            Reason::Extension(_) => "tar-extension",
            Reason::NoSkillFile(_) => "no-skill-file",
            Reason::SeveralSkills(_) => "several-skills",
            Reason::SkillTooDeep => "skill-too-deep",
            Reason::Stray(_) => "stray-file",
        }
    }
}
