//! Makes the folder of a container equal to a snapshot. First everything is removed that is
//! not part of it, then what is missing or different is written. Files are replaced in one
//! step each: whatever interrupts this, restoring again completes it.
//!
//! No command may be running in the container.

use super::plan::{FolderPlan, PlannedEntry, RestorePlan};
use super::take::{finish_digest, join};
use super::{ContentReader, Snapshot, SnapshotContent, SnapshotEntry};
use crate::beneath;
use crate::collect::folder::{EntryKind, FolderHandle};
use crate::error::{Error, ErrorContext};
use rustix::fs::{AtFlags, Gid, Mode, RawMode, Uid, chownat, readlinkat, symlinkat};
use sha2::{Digest as _, Sha256};
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

const BUFFER_BYTES: usize = 128 << 10;

/// Where a snapshot is restored to.
pub(crate) struct RestoreTarget<'a> {
    /// The container's folder.
    pub(crate) folder: &'a Path,
    /// The owner of its files, if the server may set it.
    pub(crate) owner: Option<u32>,
    /// What the folder contains now.
    pub(crate) found: &'a Snapshot,
    /// Opens the content of a file that is missing or different.
    pub(crate) contents: &'a dyn Fn(&SnapshotEntry) -> io::Result<ContentReader>,
}

/// Makes the target's folder equal to the plan.
pub(crate) fn restore(plan: &RestorePlan, target: &RestoreTarget<'_>) -> Result<(), Error> {
    let place = target.folder;
    let folder =
        FolderHandle::open_path(place).at("cannot open the files of the container", place)?;
    // All of it first, so that its space is free for what is written.
    remove_others(&folder, &plan.root).context("cannot remove files of the container")?;
    target.write_folder(&folder, &plan.root, "")
}

/// Removes what is not part of the plan, or is of another kind.
fn remove_others(folder: &FolderHandle, plan: &FolderPlan) -> io::Result<()> {
    for entry in folder.entries()? {
        match (plan.0.get(&entry.name), entry.kind) {
            (Some(PlannedEntry::Folder { content, .. }), EntryKind::Folder) => {
                remove_others(&folder.enter(&entry.name)?, content)?;
            }
            (Some(PlannedEntry::File(_)), EntryKind::File)
            | (Some(PlannedEntry::Link(_)), EntryKind::Symlink) => {}
            _ => folder.remove(&entry.name)?,
        }
    }
    Ok(())
}

impl RestoreTarget<'_> {
    fn write_folder(
        &self,
        folder: &FolderHandle,
        plan: &FolderPlan,
        path: &str,
    ) -> Result<(), Error> {
        for (name, planned) in &plan.0 {
            let here = join(path, &name.to_string_lossy());
            let restoring = || format!("cannot restore {here:?}");
            match planned {
                PlannedEntry::Folder { mode, content } => {
                    let made = folder.make(name, permissions(*mode), self.owner, false);
                    self.write_folder(&made.context(restoring())?, content, &here)?;
                }
                PlannedEntry::Link(link) => {
                    self.write_link(folder, name, link).context(restoring())?
                }
                PlannedEntry::File(entry) => {
                    self.write_file(folder, name, entry).context(restoring())?
                }
            }
        }
        Ok(())
    }

    fn write_link(&self, folder: &FolderHandle, name: &CStr, target: &[u8]) -> io::Result<()> {
        let there = readlinkat(folder, name, Vec::new());
        if there.is_ok_and(|there| there.as_bytes() == target) {
            return Ok(());
        }
        folder.remove(name)?;
        symlinkat(target, folder, name)?;
        if let Some(id) = self.owner {
            let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            chownat(folder, name, Some(uid), Some(gid), flags)?;
        }
        Ok(())
    }

    fn write_file(
        &self,
        folder: &FolderHandle,
        name: &CStr,
        entry: &SnapshotEntry,
    ) -> io::Result<()> {
        let there = self.found.find(&entry.path).map(|recorded| &recorded.entry);
        match there {
            Some(there) if there == entry => Ok(()),
            Some(there) if there.content == entry.content => {
                let mode = Mode::from_raw_mode(permissions(entry.mode) | 0o600);
                Ok(beneath::set_mode(folder, name, mode)?)
            }
            _ => {
                let source = (self.contents)(entry)?;
                folder.write(name, permissions(entry.mode), self.owner, |file| {
                    copy_content(source, file, entry)
                })
            }
        }
    }
}

/// The permissions of an entry, without bits that change who runs a program.
fn permissions(mode: i64) -> RawMode {
    RawMode::try_from(mode & 0o777).unwrap_or(0o600)
}

/// Writes a content and compares it with the entry's digest.
fn copy_content(source: ContentReader, file: &mut File, entry: &SnapshotEntry) -> io::Result<()> {
    let mut source = source.take(entry.size.saturating_add(1));
    let mut hash = Sha256::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = source.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        hash.update(bytes);
        file.write_all(bytes)?;
    }
    if SnapshotContent::File(finish_digest(hash)?) != entry.content {
        let why = "the provided content has another digest";
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(())
}
