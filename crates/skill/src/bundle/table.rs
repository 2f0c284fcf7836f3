//! The file table while it is filled: sizes and names across entries.
//!
//! Readers of archives add one entry at a time; conflicts between entries are found here.

use std::collections::{BTreeMap, HashMap};

use super::{Bundle, BundleError, BundleErrorKind, BundleFile, root};
use crate::limits::BundleLimits;
use crate::path::{PathError, SkillPath, ancestors, quote_name};

pub(super) struct FileTable<'l> {
    limits: &'l BundleLimits,
    /// Names still have their wrapping folder here, so they may be longer by one
    /// part than a skill's own paths.
    wrapped_limits: BundleLimits,
    files: BTreeMap<SkillPath, BundleFile>,
    /// The state of each name, by its folded form.
    names: HashMap<String, EntryName>,
    ignored: Vec<String>,
    entries: usize,
    bytes: u64,
}

struct EntryName {
    spelling: String,
    folder: bool,
}

impl EntryName {
    fn new(spelling: &str, folder: bool) -> Self {
        EntryName {
            spelling: spelling.to_owned(),
            folder,
        }
    }
}

impl<'l> FileTable<'l> {
    pub(super) fn new(limits: &'l BundleLimits) -> Self {
        let wrapped_limits = BundleLimits {
            path_bytes: limits
                .path_bytes
                .saturating_add(limits.part_bytes)
                .saturating_add(1),
            depth: limits.depth.saturating_add(1),
            ..limits.clone()
        };
        FileTable {
            limits,
            wrapped_limits,
            files: BTreeMap::new(),
            names: HashMap::new(),
            ignored: Vec::new(),
            entries: 0,
            bytes: 0,
        }
    }

    /// Counts one more entry of whatever kind.
    pub(super) fn count_entry(&mut self) -> Result<(), BundleError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(BundleErrorKind::TooManyEntries(self.limits.entries).into());
        }
        Ok(())
    }

    /// Reserves space for an entry of `size` bytes, before they are read.
    pub(super) fn reserve(&mut self, name: impl AsRef<[u8]>, size: u64) -> Result<(), BundleError> {
        if size > self.limits.file_bytes {
            let reason = BundleErrorKind::FileTooLarge(self.limits.file_bytes);
            return Err(BundleError::at(name, reason));
        }
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > self.limits.total_bytes {
            return Err(BundleErrorKind::TotalTooLarge(self.limits.total_bytes).into());
        }
        Ok(())
    }

    /// Takes a folder, which only counts where a file has its name.
    pub(super) fn add_folder(&mut self, name: &str) -> Result<(), BundleError> {
        if name == "." {
            return Ok(());
        }
        let path = self.parse(name)?;
        if is_macos_metadata(&path) {
            return Ok(());
        }
        let key = path.fold_case();
        self.claim_folder(path.as_str(), &key)?;
        self.claim_parents(&path, &key)
    }

    pub(super) fn add_file(&mut self, name: &str, file: BundleFile) -> Result<(), BundleError> {
        let path = self.parse(name)?;
        if is_macos_metadata(&path) || is_apple_double(&path, &file.data) {
            self.ignored.push(path.into());
            return Ok(());
        }
        if self.files.len() == self.limits.files {
            return Err(BundleErrorKind::TooManyFiles(self.limits.files).into());
        }
        let key = path.fold_case();
        self.claim_file(&path, &key)?;
        self.claim_parents(&path, &key)?;
        self.files.insert(path, file);
        Ok(())
    }

    /// Checks a name that may still have its wrapping folder. The error for one that is too
    /// long even so names the limit without that folder.
    fn parse(&self, name: &str) -> Result<SkillPath, PathError> {
        // Packing the folder one is in puts this before every name.
        let name = name.strip_prefix("./").unwrap_or(name);
        SkillPath::parse(name, &self.wrapped_limits)
            .or_else(|_| SkillPath::parse(name, self.limits))
    }

    fn claim_file(&mut self, path: &SkillPath, key: &str) -> Result<(), BundleError> {
        let spelling = path.as_str();
        let reason = match self.names.get(key) {
            None => {
                self.names
                    .insert(key.to_owned(), EntryName::new(spelling, false));
                return Ok(());
            }
            Some(other) if other.folder => BundleErrorKind::FileAndFolder,
            Some(other) if other.spelling == spelling => BundleErrorKind::Duplicate,
            Some(other) => BundleErrorKind::Collision(quote_name(other.spelling.as_bytes())),
        };
        Err(BundleError::at(spelling, reason))
    }

    fn claim_parents(&mut self, path: &SkillPath, key: &str) -> Result<(), BundleError> {
        let mut parents = path.ancestors().zip(ancestors(key));
        parents.try_for_each(|(spelling, key)| self.claim_folder(spelling, key))
    }

    fn claim_folder(&mut self, spelling: &str, key: &str) -> Result<(), BundleError> {
        match self.names.get(key) {
            Some(name) if !name.folder => {
                Err(BundleError::at(spelling, BundleErrorKind::FileAndFolder))
            }
            Some(_) => Ok(()),
            None => {
                self.names
                    .insert(key.to_owned(), EntryName::new(spelling, true));
                Ok(())
            }
        }
    }

    /// Finds the skill in the files and makes its folder the root.
    pub(super) fn into_bundle(self) -> Result<Bundle, BundleError> {
        let root = root::find(&self.files)?;
        let prefix = root.folder.as_ref().map_or(0, |folder| folder.len() + 1);
        let mut files = BTreeMap::new();
        for (path, file) in self.files {
            let inside = path.as_str().get(prefix..).unwrap_or_default();
            files.insert(SkillPath::parse(inside, self.limits)?, file);
        }
        Ok(Bundle {
            files,
            skill_file: SkillPath::parse(&root.skill_file, self.limits)?,
            folder: root.folder,
            ignored: self.ignored,
        })
    }
}

/// What the macOS Finder leaves in folders and archives.
fn is_macos_metadata(path: &SkillPath) -> bool {
    path.as_str().split('/').next() == Some("__MACOSX") || path.file_name() == ".DS_Store"
}

/// The file of attributes that macOS's tar packs beside each file. Known by its
/// content too: a skill may have a real file of such a name.
fn is_apple_double(path: &SkillPath, data: &[u8]) -> bool {
    path.file_name().starts_with("._") && data.starts_with(b"\x00\x05\x16\x07")
}
