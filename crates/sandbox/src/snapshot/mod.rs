//! The files of a container at one moment, what changed between two moments, and putting a
//! container's folder back to an earlier one.
//!
//! | module | owns |
//! |---|---|
//! | `take` | walking the folder and hashing its files |
//! | `identity` | recognising a file that was hashed before |
//! | `link_target` | targets of links as text |
//! | `plan` | checking the entries of a snapshot before they are restored |
//! | `check` | the same for entries that another host reports |
//! | `digest` | one digest of all entries |
//! | `restore` | making the folder equal to a snapshot |
//!
//! It does not know where contents are stored: whoever restores a snapshot provides them.

mod check;
mod digest;
mod identity;
mod link_target;
mod plan;
mod restore;
mod take;

#[cfg(test)]
mod tests;

pub use check::{FilesUsage, check_entries, check_file_path};
pub(crate) use plan::RestorePlan;
pub(crate) use restore::{RestoreTarget, restore};
pub(crate) use take::{take, take_with_contents};

use crate::error::Error;
use bytes::Bytes;
use identity::FileIdentity;
use prowess_skill::Digest;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::Read;
use std::time::Duration;

/// Content of a file to be restored.
pub type ContentReader = Box<dyn Read + Send>;

/// Longest path in a snapshot, as for any file that a client names.
const MAX_PATH_BYTES: usize = 1024;

/// An entry of a container's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotEntry {
    /// Path relative to `/mnt/data`.
    pub path: String,
    /// What it is.
    pub content: SnapshotContent,
    /// Length in bytes: of a file, or of a link's target.
    pub size: u64,
    /// Its permissions, 0 for a link.
    pub mode: i64,
}

/// What an entry is; in JSON `{"file": DIGEST}`, `{"link": TARGET}` or `"directory"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SnapshotContent {
    /// A regular file with this content.
    File(Digest),
    /// A symbolic link. Bytes of its target that are not UTF-8 are written as `\xNN`, a
    /// backslash as `\\`.
    Link(String),
    /// A directory.
    Directory,
}

/// The files of a container at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// By path.
    entries: Vec<RecordedEntry>,
    /// When it was taken, in nanoseconds since the epoch.
    taken_at: i128,
    omitted: usize,
}

#[derive(Debug, Clone)]
struct RecordedEntry {
    entry: SnapshotEntry,
    /// Of a regular file that was read from a folder.
    identity: Option<FileIdentity>,
}

/// The files that a command has left.
#[derive(Debug)]
pub struct FilesAfter {
    /// All of them, if they can be read.
    pub snapshot: Result<Snapshot, Error>,
    /// Small contents of files that were read for it, by digest: not of all, and also of files
    /// that the command has not changed.
    pub contents: HashMap<Digest, Bytes>,
    /// How long that took.
    pub took: Duration,
}

/// The difference between two snapshots, each part ordered by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotChanges {
    /// Entries that are new or different.
    pub changed: Vec<SnapshotEntry>,
    /// Paths that are gone.
    pub removed: Vec<String>,
}

impl SnapshotChanges {
    /// Whether there is no difference.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }
}

impl Snapshot {
    /// A snapshot that was stored before.
    #[must_use]
    pub fn from_entries(mut entries: Vec<SnapshotEntry>) -> Self {
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let recorded = |entry| RecordedEntry {
            entry,
            identity: None,
        };
        Self {
            entries: entries.into_iter().map(recorded).collect(),
            ..Self::default()
        }
    }

    /// All entries, by path.
    pub fn entries(&self) -> impl Iterator<Item = &SnapshotEntry> {
        self.entries.iter().map(|recorded| &recorded.entry)
    }

    /// How many entries were left out because their paths are too long.
    #[must_use]
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// What changed since an earlier snapshot; all of this one without an earlier one.
    #[must_use]
    pub fn changes_since(&self, before: Option<&Snapshot>) -> SnapshotChanges {
        let earlier = |path: &str| before.and_then(|before| before.find(path));
        let is_new = |entry: &&SnapshotEntry| {
            earlier(&entry.path).is_none_or(|recorded| recorded.entry != **entry)
        };
        let before_paths = before.into_iter().flat_map(Snapshot::entries);
        SnapshotChanges {
            changed: self.entries().filter(is_new).cloned().collect(),
            removed: before_paths
                .filter(|entry| self.find(&entry.path).is_none())
                .map(|entry| entry.path.clone())
                .collect(),
        }
    }

    fn find(&self, path: &str) -> Option<&RecordedEntry> {
        let order = |recorded: &RecordedEntry| recorded.entry.path.as_str().cmp(path);
        let place = self.entries.binary_search_by(order).ok()?;
        self.entries.get(place)
    }

    /// The digest and size of a file that has not changed since this snapshot was taken.
    fn known_content(&self, path: &str, identity: &FileIdentity) -> Option<(Digest, u64)> {
        let recorded = self.find(path)?;
        let same = recorded.identity.as_ref() == Some(identity);
        match recorded.entry.content {
            SnapshotContent::File(digest) if same && identity.is_settled(self.taken_at) => {
                Some((digest, recorded.entry.size))
            }
            _ => None,
        }
    }
}
