//! Checks the entries of a snapshot that is to be restored: names, nesting and limits. What
//! is wrong is found before anything is changed.

use super::take::over_quota;
use super::{Snapshot, SnapshotContent, SnapshotEntry, link_target};
use crate::collect::{DiskUsage, MAX_FOLDER_DEPTH};
use crate::error::Error;
use crate::name;
use crate::policy::SandboxLimits;
use std::collections::BTreeMap;
use std::ffi::CString;

/// The entries of a snapshot as a tree.
#[derive(Debug)]
pub(crate) struct RestorePlan {
    pub(super) root: FolderPlan,
    /// What they take on the disk.
    pub(crate) usage: DiskUsage,
}

/// What a folder is to contain, and nothing else.
#[derive(Debug, Default)]
pub(super) struct FolderPlan(pub(super) BTreeMap<CString, PlannedEntry>);

#[derive(Debug)]
pub(super) enum PlannedEntry {
    File(SnapshotEntry),
    Link(Vec<u8>),
    Folder { mode: i64, content: FolderPlan },
}

impl RestorePlan {
    /// Checks the entries of a snapshot.
    pub(crate) fn new(entries: Vec<SnapshotEntry>, limits: &SandboxLimits) -> Result<Self, Error> {
        let mut plan = Self {
            root: FolderPlan::default(),
            usage: DiskUsage::default(),
        };
        // By path, so that a folder comes before what is in it.
        for recorded in Snapshot::from_entries(entries).entries {
            plan.add(recorded.entry, limits)?;
        }
        Ok(plan)
    }

    fn add(&mut self, entry: SnapshotEntry, limits: &SandboxLimits) -> Result<(), Error> {
        let bad = |why| Error::BadName {
            what: "path",
            name: entry.path.clone(),
            why,
        };
        let mut names = name::split_path(&entry.path)?;
        let last = names.pop().ok_or_else(|| bad("it is empty"))?;
        if names.len() >= MAX_FOLDER_DEPTH {
            return Err(bad("it is nested deeper than a container allows"));
        }
        self.usage.entries += 1;
        self.usage.bytes = self.usage.bytes.saturating_add(entry.size);
        if self.usage.bytes > limits.data_bytes || self.usage.entries > limits.container_entries {
            return Err(over_quota(entry.path, self.usage.bytes, limits));
        }
        let mut folder = &mut self.root;
        for name in &names {
            folder = match folder.0.get_mut(name) {
                Some(PlannedEntry::Folder { content, .. }) => content,
                _ => return Err(bad("its folder is not part of the snapshot")),
            };
        }
        if folder.0.contains_key(&last) {
            return Err(bad("the snapshot has it twice"));
        }
        let planned = match &entry.content {
            SnapshotContent::Directory => PlannedEntry::Folder {
                mode: entry.mode,
                content: FolderPlan::default(),
            },
            SnapshotContent::Link(target) => {
                PlannedEntry::Link(link_target::decode(&entry.path, target)?)
            }
            SnapshotContent::File(_) => PlannedEntry::File(entry),
        };
        folder.0.insert(last, planned);
        Ok(())
    }
}
