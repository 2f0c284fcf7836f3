//! Collecting: first deleted files are removed, then new and changed ones are copied while
//! the limits of the container, its tenant and the server allow it.

use super::folder::{EntryKind, FileEntry, FolderHandle};
use super::usage::{DiskUsage, ENTRY_BYTES, counted_bytes, measure};
use super::{CollectedFiles, MAX_FOLDER_DEPTH, SandboxOutput, SkipReason, SkippedFile, mime};
use crate::error::{Error, ErrorContext};
use crate::name;
use crate::policy::SandboxLimits;
use rustix::fd::{AsFd, OwnedFd};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

/// Entries reported as skipped; the last one states that there were more.
const MAX_SKIPPED: usize = 100;

/// Where files are copied to.
pub(crate) struct CollectTarget<'a> {
    /// The container's folder.
    pub(crate) folder: &'a Path,
    /// The owner of the copies, if the server may set it.
    pub(crate) owner: Option<u32>,
    /// Usage of the folder before, if known.
    pub(crate) used: Option<DiskUsage>,
    /// Reserves that many bytes on the disk and returns how many are available.
    pub(crate) reserve: &'a dyn Fn(u64) -> u64,
}

/// Copies the files in `written` into a container's folder.
pub(crate) fn collect_outputs(
    written: &OwnedFd,
    into: CollectTarget<'_>,
    limits: &SandboxLimits,
) -> Result<CollectedFiles, Error> {
    let from =
        FolderHandle::reopen(written.as_fd()).context("cannot read the output of the command")?;
    let place = into.folder;
    let folder =
        FolderHandle::open_path(place).at("cannot open the files of the container", place)?;
    let mut swept = SweepTotals::default();
    swept
        .sweep(&from, Some(&folder), 0)
        .context("cannot remove deleted files")?;
    let used = match into.used.filter(|_| !swept.removed) {
        Some(used) => used,
        None => measure(place, DiskUsage::MAX, &mut |_, _| {})?.usage,
    };
    let mut collector = OutputCollector {
        limits,
        owner: into.owner,
        left: RemainingQuota {
            bytes: limits.data_bytes.saturating_sub(used.bytes),
            entries: limits.container_entries.saturating_sub(used.entries),
            disk: match swept.growth_within(limits, used) {
                0 => 0,
                growth => (into.reserve)(growth),
            },
        },
        reported: 0,
        found: CollectedFiles::default(),
    };
    collector.collect_folder(&from, &folder, "", 0)?;
    collector.found.outputs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(collector.found)
}

/// Totals of the first walk.
#[derive(Default)]
struct SweepTotals {
    /// Whether something was removed.
    removed: bool,
    /// Additional bytes of all new and changed files.
    growth: u64,
    /// New entries.
    new_entries: u64,
}

impl SweepTotals {
    /// Removes deleted files and replaced folders, so that their space is free for new
    /// files, whatever the order of the names.
    fn sweep(
        &mut self,
        from: &FolderHandle,
        into: Option<&FolderHandle>,
        depth: usize,
    ) -> std::io::Result<()> {
        for entry in from.entries()? {
            let name = &entry.name;
            let there = into.and_then(|into| into.entry(name).ok());
            match entry.kind {
                EntryKind::Deleted | EntryKind::Special => {
                    self.remove(into, &entry, there.is_some())?
                }
                EntryKind::Folder if depth + 1 >= MAX_FOLDER_DEPTH => {}
                EntryKind::Folder => {
                    let down = from.enter(name)?;
                    if down.is_opaque() {
                        self.remove(into, &entry, there.is_some())?;
                    }
                    let inner = match into {
                        Some(into) if is_folder(into, &entry) => Some(into.enter(name)?),
                        _ => None,
                    };
                    if inner.is_none() {
                        self.new_entries += 1;
                    }
                    self.sweep(&down, inner.as_ref(), depth + 1)?;
                }
                EntryKind::File | EntryKind::Symlink => {
                    let before = there.as_ref().map_or(0, counted_bytes);
                    let growth = counted_bytes(&entry).saturating_sub(before);
                    self.growth = self.growth.saturating_add(growth);
                    self.new_entries += u64::from(there.is_none());
                }
            }
        }
        Ok(())
    }

    fn remove(
        &mut self,
        into: Option<&FolderHandle>,
        entry: &FileEntry,
        is_there: bool,
    ) -> std::io::Result<()> {
        match into {
            Some(into) if is_there => {
                self.removed = true;
                into.remove(&entry.name)
            }
            _ => Ok(()),
        }
    }

    /// Additional bytes on the disk that new files need, as far as the container can have them:
    /// sparse files and hard links can be any number of bytes, and space for what is not stored must
    /// not be taken from other containers.
    fn growth_within(&self, limits: &SandboxLimits, used: DiskUsage) -> u64 {
        let bytes = self.growth.min(limits.data_bytes.max(used.bytes));
        let entries = self.new_entries.min(limits.container_entries);
        bytes.saturating_add(entries.saturating_mul(ENTRY_BYTES))
    }
}

fn is_folder(into: &FolderHandle, entry: &FileEntry) -> bool {
    let there = into.entry(&entry.name);
    there.is_ok_and(|there| there.kind == EntryKind::Folder)
}

/// The remaining limits.
struct RemainingQuota {
    /// Of `data_bytes`.
    bytes: u64,
    /// Of `container_entries`.
    entries: u64,
    /// Of the disk limits of the tenant and the server.
    disk: u64,
}

impl RemainingQuota {
    /// Charges an entry that replaces `there`; charges nothing if there is too little space.
    fn charge(&mut self, bytes: u64, there: Option<&FileEntry>) -> bool {
        let before = there.map_or(0, counted_bytes);
        let entries = u64::from(there.is_none());
        let growth = bytes.saturating_sub(before) + entries * ENTRY_BYTES;
        let bytes_left = self.bytes.saturating_add(before).checked_sub(bytes);
        let (Some(bytes), Some(entries), Some(disk)) = (
            bytes_left,
            self.entries.checked_sub(entries),
            self.disk.checked_sub(growth),
        ) else {
            return false;
        };
        (self.bytes, self.entries, self.disk) = (bytes, entries, disk);
        true
    }
}

struct OutputCollector<'a> {
    limits: &'a SandboxLimits,
    owner: Option<u32>,
    left: RemainingQuota,
    /// Bytes of outputs so far.
    reported: u64,
    found: CollectedFiles,
}

impl OutputCollector<'_> {
    fn collect_folder(
        &mut self,
        from: &FolderHandle,
        into: &FolderHandle,
        path: &str,
        depth: usize,
    ) -> Result<(), Error> {
        for entry in from
            .entries()
            .context(format_args!("cannot list the folder {path:?}"))?
        {
            let shown = entry.name.to_string_lossy();
            let here = if path.is_empty() {
                shown.into_owned()
            } else {
                format!("{path}/{shown}")
            };
            let text = entry.name.to_str().is_ok_and(name::is_shown_as_written);
            match entry.kind {
                // An overlay's whiteout, not a device: handled by the first walk.
                EntryKind::Deleted => {}
                _ if !text => self.skip(here, SkipReason::Name),
                // Nobody could name it.
                _ if here.len() > name::MAX_PATH_BYTES => self.skip(here, SkipReason::Depth),
                EntryKind::Special => self.skip(here, SkipReason::Special),
                EntryKind::Symlink => self.collect_link(from, into, &entry, here)?,
                EntryKind::Folder if depth + 1 >= MAX_FOLDER_DEPTH => {
                    self.skip(here, SkipReason::Depth)
                }
                EntryKind::Folder => {
                    let there = into.entry(&entry.name).ok();
                    let stays = there
                        .as_ref()
                        .is_some_and(|one| one.kind == EntryKind::Folder);
                    if !stays && !self.left.charge(0, there.as_ref()) {
                        self.skip(here, SkipReason::Quota);
                        continue;
                    }
                    let down = from.enter(&entry.name).context(describe_storing(&here))?;
                    let target = into
                        .make(&entry.name, entry.mode, self.owner, false)
                        .context(describe_storing(&here))?;
                    self.collect_folder(&down, &target, &here, depth + 1)?;
                }
                EntryKind::File => self.collect_file(from, into, &entry, here)?,
            }
        }
        Ok(())
    }

    fn collect_link(
        &mut self,
        from: &FolderHandle,
        into: &FolderHandle,
        entry: &FileEntry,
        path: String,
    ) -> Result<(), Error> {
        let there = into.entry(&entry.name).ok();
        if !self.left.charge(counted_bytes(entry), there.as_ref()) {
            self.skip(path, SkipReason::Quota);
            return Ok(());
        }
        into.copy_link(from, &entry.name, self.owner)
            .context(describe_storing(&path))?;
        self.skip(path, SkipReason::Symlink);
        Ok(())
    }

    fn collect_file(
        &mut self,
        from: &FolderHandle,
        into: &FolderHandle,
        entry: &FileEntry,
        path: String,
    ) -> Result<(), Error> {
        // The space of the replaced file is free.
        let there = into.entry(&entry.name).ok();
        if !self.left.charge(entry.size, there.as_ref()) {
            self.skip(path, SkipReason::Quota);
            return Ok(());
        }
        let source = from
            .open_file(&entry.name)
            .context(describe_storing(&path))?;
        let before = into.digest(&entry.name);
        let mut head = Vec::new();
        let sha256 = into
            .write(&entry.name, entry.mode, self.owner, |copy| {
                copy_bytes(source, copy, entry.size, &mut head)
            })
            .context(describe_storing(&path))?;
        if before == Some(sha256) {
            return Ok(());
        }
        if entry.links > 1 {
            self.skip(path, SkipReason::HardLink);
        } else if entry.size > self.limits.outputs.file_bytes {
            self.skip(path, SkipReason::TooLarge);
        } else if self.found.outputs.len() >= self.limits.outputs.count
            || self.reported + entry.size > self.limits.outputs.total_bytes
        {
            self.skip(path, SkipReason::TooMany);
        } else {
            self.reported += entry.size;
            let mime_type = mime::guess(&path, &head).to_owned();
            let sha256 = hex(&sha256);
            self.found.outputs.push(SandboxOutput {
                path,
                size: entry.size,
                mime_type,
                sha256,
            });
        }
        Ok(())
    }

    /// If the list is full, a lost file replaces one that is only not reported.
    fn skip(&mut self, path: String, reason: SkipReason) {
        let is_full = self.found.skipped.len() >= MAX_SKIPPED;
        let mut listed = self.found.skipped.iter_mut();
        if is_full
            && reason.is_loss()
            && let Some(kept) = listed.find(|one| !one.reason.is_loss())
            && kept.reason != SkipReason::More
        {
            let kept = std::mem::replace(kept, SkippedFile { path, reason });
            return self.skip(kept.path, kept.reason);
        }
        match self.found.skipped.len() {
            listed if listed < MAX_SKIPPED => self.found.skipped.push(SkippedFile { path, reason }),
            MAX_SKIPPED => {
                self.found.skipped.push(SkippedFile {
                    path: String::new(),
                    reason: SkipReason::More,
                });
            }
            _ => {}
        }
    }
}

/// The error when a file cannot be stored.
fn describe_storing(path: &str) -> String {
    format!("cannot store {path:?}")
}

/// Copies at most `size` bytes, stores the first few in `head`, and returns the digest.
fn copy_bytes(
    source: File,
    to: &mut File,
    size: u64,
    head: &mut Vec<u8>,
) -> std::io::Result<[u8; 32]> {
    let mut source = source.take(size);
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 128 << 10];
    loop {
        let read = source.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        if head.is_empty() {
            head.extend(bytes.iter().take(mime::HEAD_BYTES));
        }
        digest.update(bytes);
        to.write_all(bytes)?;
    }
    Ok(digest.finalize().into())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
