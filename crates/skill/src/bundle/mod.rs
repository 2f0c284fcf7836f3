//! Zip, tar.gz and loose files to one checked file table, and back.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::path::SkillPath;

/// The files of one skill, with `SKILL.md` at the root. Sorted by path, so that
/// everything derived from it is deterministic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bundle {
    files: BTreeMap<SkillPath, File>,
}

/// One file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The content.
    pub data: Bytes,
    /// Whether it may be executed: the only mode bit a skill keeps.
    pub executable: bool,
}

impl Bundle {
    /// The files, sorted by path.
    pub fn files(&self) -> impl ExactSizeIterator<Item = (&SkillPath, &File)> {
        self.files.iter()
    }

    /// One file by its path.
    pub fn get(&self, path: &str) -> Option<&File> {
        self.files
            .iter()
            .find(|(p, _)| p.as_str() == path)
            .map(|(_, f)| f)
    }
}

/// Why bytes are not a skill's bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {}
