//! Zip, tar.gz and loose files to one checked file table, and back.
//!
//! Every skill is read through this module, from an upload, a folder or a URL. The result is
//! a [`Bundle`]: only regular files with safe, distinct names, within [`BundleLimits`], one of
//! them the `SKILL.md`. The content of that file is not checked here.
//!
//! | module | owns |
//! |---|---|
//! | `format` | which format an archive has, by its bytes |
//! | `zip`, `tar` | one format each: reads entries, and refuses archives that tools could read in two ways |
//! | `archive_file` | one file of an archive, as a reader shows it to a visitor |
//! | `table` | names and sizes across entries |
//! | `root` | which folder is the skill |
//! | `tree` | the skills of a repository's archive |
//! | `pack` | writes archives: the same files give the same bytes |
//! | `error` | why a bundle is refused |

mod archive_file;
mod error;
mod format;
mod pack;
mod root;
mod table;
mod tar;
mod tree;
mod zip;

use std::collections::BTreeMap;

use bytes::Bytes;

pub use error::{BundleError, BundleErrorKind};
pub use pack::{ArchiveLayout, PackError};
pub use tree::{SkillTree, TreeQuery};

use crate::limits::BundleLimits;
use crate::path::SkillPath;
use format::ArchiveFormat;
use table::FileTable;

/// The files of one skill, with `SKILL.md` at the root. Sorted by path, so that
/// everything derived from it is deterministic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    files: BTreeMap<SkillPath, BundleFile>,
    skill_file: SkillPath,
    folder: Option<String>,
    ignored: Vec<String>,
}

/// One file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleFile {
    /// The content.
    pub data: Bytes,
    /// Whether it is executable: the only mode bit that a skill retains.
    pub executable: bool,
}

impl Bundle {
    /// Reads a zip or a tar.gz, whichever the bytes are.
    pub fn from_archive(archive: &[u8], limits: &BundleLimits) -> Result<Self, BundleError> {
        match ArchiveFormat::detect(archive) {
            ArchiveFormat::Zip => Self::from_zip(archive, limits),
            ArchiveFormat::Gzip => Self::from_tar_gz(archive, limits),
            ArchiveFormat::Other(what) => Err(BundleErrorKind::UnknownFormat(what).into()),
        }
    }

    /// Reads a zip, which is also what a `.skill` file is.
    pub fn from_zip(archive: &[u8], limits: &BundleLimits) -> Result<Self, BundleError> {
        check_size(archive, limits)?;
        let mut table = FileTable::new(limits);
        zip::read(archive, limits, &mut table)?;
        table.into_bundle()
    }

    /// Reads a gzipped tar.
    pub fn from_tar_gz(archive: &[u8], limits: &BundleLimits) -> Result<Self, BundleError> {
        check_size(archive, limits)?;
        let mut table = FileTable::new(limits);
        tar::read(archive, limits, &mut table)?;
        table.into_bundle()
    }

    /// Reads files that come without permissions, from a form or a web server: name and content.
    /// Scripts that name their interpreter are executable, as their authors made them.
    pub fn from_bare_files<N: AsRef<str>>(
        files: impl IntoIterator<Item = (N, Bytes)>,
        limits: &BundleLimits,
    ) -> Result<Self, BundleError> {
        let files = files.into_iter().map(|(name, data)| {
            let executable = names_interpreter(&data);
            (name, data, executable)
        });
        Self::from_files(files, limits)
    }

    /// Reads loose files, such as those of a folder: name, content,
    /// and whether it may be executed. Flat or all in one folder, as in archives.
    pub fn from_files<N: AsRef<str>>(
        files: impl IntoIterator<Item = (N, Bytes, bool)>,
        limits: &BundleLimits,
    ) -> Result<Self, BundleError> {
        let mut table = FileTable::new(limits);
        for (name, data, executable) in files {
            table.count_entry()?;
            table.reserve(name.as_ref(), data.len() as u64)?;
            table.add_file(name.as_ref(), BundleFile { data, executable })?;
        }
        table.into_bundle()
    }

    /// Takes a bare `SKILL.md`.
    pub fn from_skill_md(
        text: impl Into<Bytes>,
        limits: &BundleLimits,
    ) -> Result<Self, BundleError> {
        Self::from_files([(root::SKILL_FILE, text.into(), false)], limits)
    }

    /// The files, sorted by path.
    pub fn files(&self) -> impl ExactSizeIterator<Item = (&SkillPath, &BundleFile)> {
        self.files.iter()
    }

    /// One file by its path.
    pub fn get(&self, path: &str) -> Option<&BundleFile> {
        self.files.get(path)
    }

    /// The path of the skill's main file: `SKILL.md`, or however its author spelled
    /// it (`skill.md`).
    pub fn skill_file(&self) -> &SkillPath {
        &self.skill_file
    }

    /// The content of the skill's main file.
    pub fn skill_md(&self) -> &[u8] {
        self.get(self.skill_file.as_str())
            .map_or(&[], |file| &file.data)
    }

    /// The one folder the files came wrapped in, when they did.
    pub fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    /// Entries that were left out on purpose: what macOS adds to an archive.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// How many files there are.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a bundle has at least its skill file"
    )]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Bytes of all files together.
    pub fn total_bytes(&self) -> u64 {
        self.files.values().map(|f| f.data.len() as u64).sum()
    }
}

/// Whether a file is a script with `#!`.
fn names_interpreter(data: &[u8]) -> bool {
    data.starts_with(b"#!")
}

fn check_size(archive: &[u8], limits: &BundleLimits) -> Result<(), BundleError> {
    let (size, limit) = (archive.len() as u64, limits.archive_bytes);
    if size > limit {
        return Err(BundleErrorKind::ArchiveTooLarge { size, limit }.into());
    }
    Ok(())
}
