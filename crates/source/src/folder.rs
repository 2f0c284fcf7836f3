//! A folder's files to a bundle.
//!
//! Links are never followed: a skill's folder is untrusted, and a link could name any file
//! of the reader. Skipped files are reported.

use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use prowess_skill::bundle::BundleErrorKind;
use prowess_skill::{Bundle, BundleError, BundleLimits, Diagnostic, rules};

use crate::error::SourceError;

/// Folders of tools, never part of a skill.
pub(crate) const SKIPPED_FOLDERS: [&str; 4] = [".git", "node_modules", "__pycache__", ".venv"];

/// A folder's bundle, and what was skipped.
#[derive(Debug)]
pub struct FolderBundle {
    /// The files.
    pub bundle: Bundle,
    /// What was skipped.
    pub skipped: Vec<SkippedEntry>,
}

/// A file or folder that is not in the bundle.
#[derive(Debug)]
pub struct SkippedEntry {
    /// Its path below the folder.
    pub path: String,
    /// Why it was skipped.
    pub reason: FolderSkipReason,
}

/// Why a file or folder is not in a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderSkipReason {
    /// What tools and operating systems leave behind.
    NotPartOfSkill,
    /// A symbolic link.
    Link,
    /// A folder below the deepest one that is read.
    TooDeep,
    /// A socket, a device or the like.
    NotAFile,
}

impl FolderSkipReason {
    /// Whether the skill may need it, so that a copy of the skill lacks something.
    pub fn is_loss(self) -> bool {
        self != FolderSkipReason::NotPartOfSkill
    }

    fn message(self) -> &'static str {
        match self {
            FolderSkipReason::NotPartOfSkill => "not part of a skill",
            FolderSkipReason::Link => "a link is never followed",
            FolderSkipReason::TooDeep => "nested too deep",
            FolderSkipReason::NotAFile => "not a regular file",
        }
    }
}

impl SkippedEntry {
    /// The diagnostic about it.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let rule = if self.reason.is_loss() {
            &rules::CONTENT_LEFT_OUT
        } else {
            &rules::IGNORED_ENTRY
        };
        let message = format!("`{}` is left out: {}", self.path, self.reason.message());
        rule.in_file(&self.path, message)
    }
}

/// Reads all files below a folder. Sizes are checked before bytes are read.
pub fn read(folder: &Path, limits: &BundleLimits) -> Result<FolderBundle, SourceError> {
    let mut walk = FolderWalk {
        root: folder,
        limits,
        files: Vec::new(),
        skipped: Vec::new(),
        total: 0,
    };
    walk.enter(folder, "", 0)?;
    let FolderWalk { files, skipped, .. } = walk;
    let mut loose = Vec::with_capacity(files.len());
    for file in files {
        let data = fs::read(&file.path).map_err(|error| SourceError::io(&file.path, error))?;
        loose.push((file.name, Bytes::from(data), file.executable));
    }
    let bundle =
        Bundle::from_files(loose, limits).map_err(|error| SourceError::bundle(folder, error))?;
    Ok(FolderBundle { bundle, skipped })
}

struct FoundFile {
    path: PathBuf,
    name: String,
    executable: bool,
}

struct FolderWalk<'a> {
    root: &'a Path,
    limits: &'a BundleLimits,
    files: Vec<FoundFile>,
    skipped: Vec<SkippedEntry>,
    total: u64,
}

impl FolderWalk<'_> {
    fn enter(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), SourceError> {
        for SkillFolderEntry { path, kind } in sorted_entries(folder)? {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                return Err(SourceError::NameNotText(path));
            };
            let full = format!("{prefix}{name}");
            // Links too: nobody misses what is never part of a skill.
            let is_leftover = !kind.is_dir() && is_junk(name)
                || !kind.is_file() && SKIPPED_FOLDERS.contains(&name);
            if is_leftover {
                self.skip(full, FolderSkipReason::NotPartOfSkill);
            } else if kind.is_symlink() {
                self.skip(full, FolderSkipReason::Link);
            } else if kind.is_dir() {
                if depth < self.limits.depth {
                    self.enter(&path, &format!("{full}/"), depth + 1)?;
                } else {
                    self.skip(full, FolderSkipReason::TooDeep);
                }
            } else if kind.is_file() {
                self.add_file(path, full)?;
            } else {
                self.skip(full, FolderSkipReason::NotAFile);
            }
        }
        Ok(())
    }

    fn skip(&mut self, path: String, reason: FolderSkipReason) {
        self.skipped.push(SkippedEntry { path, reason });
    }

    fn add_file(&mut self, path: PathBuf, name: String) -> Result<(), SourceError> {
        let meta = fs::symlink_metadata(&path).map_err(|error| SourceError::io(&path, error))?;
        self.total += meta.len();
        let limits = self.limits;
        let refused = if self.files.len() >= limits.files {
            Some(BundleErrorKind::TooManyFiles(limits.files).into())
        } else if meta.len() > limits.file_bytes {
            Some(BundleError::at(
                &name,
                BundleErrorKind::FileTooLarge(limits.file_bytes),
            ))
        } else if self.total > limits.total_bytes {
            Some(BundleErrorKind::TotalTooLarge(limits.total_bytes).into())
        } else {
            None
        };
        if let Some(error) = refused {
            return Err(SourceError::bundle(self.root, error));
        }
        self.files.push(FoundFile {
            path,
            name,
            executable: is_executable(&meta),
        });
        Ok(())
    }
}

/// An entry of a folder, and what it is without following links.
pub(crate) struct SkillFolderEntry {
    pub(crate) path: PathBuf,
    pub(crate) kind: FileType,
}

/// The entries of a folder, sorted, so that the order is always the same.
pub(crate) fn sorted_entries(folder: &Path) -> Result<Vec<SkillFolderEntry>, SourceError> {
    let unreadable = |error| SourceError::io(folder, error);
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        entries.push(SkillFolderEntry {
            path: entry.path(),
            kind: entry.file_type().map_err(unreadable)?,
        });
    }
    // By bytes: comparing paths part by part costs more than reading them.
    entries.sort_unstable_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    Ok(entries)
}

/// Whether a path below a skill's folder is part of the skill.
pub(crate) fn is_kept(path: &str) -> bool {
    let skipped = |part| SKIPPED_FOLDERS.contains(&part);
    !is_junk(path) && !path.split('/').any(skipped)
}

fn is_junk(name: &str) -> bool {
    name.ends_with(".pyc") || name.ends_with(".DS_Store")
}

#[cfg(unix)]
fn is_executable(meta: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    meta.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}
