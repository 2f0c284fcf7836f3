//! The taking itself: first what was deleted goes, then what is new or changed is copied
//! as long as the session, its tenant and the server have room for it.

use super::folder::{Entry, Folder, Kind};
use super::usage::{ENTRY_BYTES, Usage, bytes_of, measure};
use super::{Collected, MAX_FOLDERS, Output, Reason, Skipped, mime};
use crate::error::{During, Error};
use crate::policy::Limits;
use rustix::fd::{AsFd, OwnedFd};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

/// Entries reported as skipped; the last one tells that there were more.
const MOST_SKIPPED: usize = 100;

/// Where things are taken to.
pub(crate) struct Into<'a> {
    /// The session's folder.
    pub(crate) folder: &'a Path,
    /// The id to give things to, when we may.
    pub(crate) owner: Option<u32>,
    /// What the folder holds before, if that is known.
    pub(crate) used: Option<Usage>,
    /// Makes room for that many bytes on the disk and returns how many there is room for.
    pub(crate) room: &'a dyn Fn(u64) -> u64,
}

/// Moves what is in `written` into a session's folder.
pub(crate) fn take(written: &OwnedFd, into: Into<'_>, limits: &Limits) -> Result<Collected, Error> {
    let from = Folder::reopen(written.as_fd()).during("what was written")?;
    let place = into.folder;
    let folder = Folder::open_path(place).at("the session's files could not be opened", place)?;
    let mut swept = Swept::default();
    swept
        .sweep(&from, Some(&folder), 0)
        .during("what was deleted")?;
    let used = match into.used.filter(|_| !swept.removed) {
        Some(used) => used,
        None => measure(place, Usage::MAX, &mut |_, _| {})?.usage,
    };
    let mut taker = Taker {
        limits,
        owner: into.owner,
        left: Left {
            bytes: limits.data_bytes.saturating_sub(used.bytes),
            entries: limits.session_entries.saturating_sub(used.entries),
            disk: match swept.growth {
                0 => 0,
                growth => (into.room)(growth),
            },
        },
        reported: 0,
        found: Collected::default(),
    };
    taker.folder(&from, &folder, "", 0)?;
    taker.found.outputs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(taker.found)
}

/// What the first walk found.
#[derive(Default)]
struct Swept {
    /// Whether something was removed.
    removed: bool,
    /// Bytes on the disk that all of it would take beside what is there.
    growth: u64,
}

impl Swept {
    /// Removes what was deleted or replaced as a whole, so that it makes room for what
    /// is new, whatever the order of the names.
    fn sweep(&mut self, from: &Folder, into: Option<&Folder>, depth: usize) -> std::io::Result<()> {
        for entry in from.entries()? {
            let name = &entry.name;
            let there = into.and_then(|into| into.entry(name).ok());
            match entry.kind {
                Kind::Deleted | Kind::Special => self.remove(into, &entry, there.is_some())?,
                Kind::Folder if depth + 1 >= MAX_FOLDERS => {}
                Kind::Folder => {
                    let down = from.enter(name)?;
                    if down.is_opaque() {
                        self.remove(into, &entry, there.is_some())?;
                    }
                    let inner = match into {
                        Some(into) if is_folder(into, &entry) => Some(into.enter(name)?),
                        _ => None,
                    };
                    if inner.is_none() {
                        self.grow(ENTRY_BYTES);
                    }
                    self.sweep(&down, inner.as_ref(), depth + 1)?;
                }
                Kind::File | Kind::Symlink => {
                    let before = there.as_ref().map_or(0, bytes_of);
                    let new = if there.is_none() { ENTRY_BYTES } else { 0 };
                    self.grow(bytes_of(&entry).saturating_sub(before).saturating_add(new));
                }
            }
        }
        Ok(())
    }

    fn remove(
        &mut self,
        into: Option<&Folder>,
        entry: &Entry,
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

    fn grow(&mut self, bytes: u64) {
        self.growth = self.growth.saturating_add(bytes);
    }
}

fn is_folder(into: &Folder, entry: &Entry) -> bool {
    let there = into.entry(&entry.name);
    there.is_ok_and(|there| there.kind == Kind::Folder)
}

/// What may still be taken.
struct Left {
    /// Of `data_bytes`.
    bytes: u64,
    /// Of `session_entries`.
    entries: u64,
    /// Of what the tenant and the server have on the disk.
    disk: u64,
}

impl Left {
    /// Takes room for an entry in place of what is there; nothing if there is too little.
    fn charge(&mut self, bytes: u64, there: Option<&Entry>) -> bool {
        let before = there.map_or(0, bytes_of);
        let entries = u64::from(there.is_none());
        let growth = bytes.saturating_sub(before) + entries * ENTRY_BYTES;
        let room = self.bytes.saturating_add(before).checked_sub(bytes);
        let (Some(bytes), Some(entries), Some(disk)) = (
            room,
            self.entries.checked_sub(entries),
            self.disk.checked_sub(growth),
        ) else {
            return false;
        };
        (self.bytes, self.entries, self.disk) = (bytes, entries, disk);
        true
    }
}

struct Taker<'a> {
    limits: &'a Limits,
    owner: Option<u32>,
    left: Left,
    /// Bytes of outputs so far.
    reported: u64,
    found: Collected,
}

impl Taker<'_> {
    fn folder(
        &mut self,
        from: &Folder,
        into: &Folder,
        path: &str,
        depth: usize,
    ) -> Result<(), Error> {
        for entry in from.entries().during(format_args!("listing {path:?}"))? {
            let name = entry.name.to_string_lossy();
            let here = match path.is_empty() {
                true => name.into_owned(),
                false => format!("{path}/{name}"),
            };
            let text = entry
                .name
                .to_str()
                .is_ok_and(|name| !name.chars().any(char::is_control));
            match entry.kind {
                // An overlay's mark, not a device: the first walk saw to it.
                Kind::Deleted => {}
                _ if !text => self.skip(here, Reason::Name),
                Kind::Special => self.skip(here, Reason::Special),
                Kind::Symlink => self.link(from, into, &entry, here)?,
                Kind::Folder if depth + 1 >= MAX_FOLDERS => self.skip(here, Reason::Depth),
                Kind::Folder => {
                    let there = into.entry(&entry.name).ok();
                    let stays = there.as_ref().is_some_and(|one| one.kind == Kind::Folder);
                    if !stays && !self.left.charge(0, there.as_ref()) {
                        self.skip(here, Reason::Quota);
                        continue;
                    }
                    let down = from.enter(&entry.name).during(kept(&here))?;
                    let target = into
                        .make(&entry.name, entry.mode, self.owner, false)
                        .during(kept(&here))?;
                    self.folder(&down, &target, &here, depth + 1)?;
                }
                Kind::File => self.file(from, into, &entry, here)?,
            }
        }
        Ok(())
    }

    fn link(
        &mut self,
        from: &Folder,
        into: &Folder,
        entry: &Entry,
        path: String,
    ) -> Result<(), Error> {
        let there = into.entry(&entry.name).ok();
        if !self.left.charge(bytes_of(entry), there.as_ref()) {
            self.skip(path, Reason::Quota);
            return Ok(());
        }
        into.copy_link(from, &entry.name, self.owner)
            .during(kept(&path))?;
        self.skip(path, Reason::Symlink);
        Ok(())
    }

    fn file(
        &mut self,
        from: &Folder,
        into: &Folder,
        entry: &Entry,
        path: String,
    ) -> Result<(), Error> {
        // What it replaces makes room for it.
        let there = into.entry(&entry.name).ok();
        if !self.left.charge(entry.size, there.as_ref()) {
            self.skip(path, Reason::Quota);
            return Ok(());
        }
        let source = from.open_file(&entry.name).during(kept(&path))?;
        let before = into.digest(&entry.name);
        let mut head = Vec::new();
        let sha256 = into
            .write(&entry.name, entry.mode, self.owner, |copy| {
                copy_bytes(source, copy, entry.size, &mut head)
            })
            .during(kept(&path))?;
        if before == Some(sha256) {
            return Ok(());
        }
        if entry.links > 1 {
            self.skip(path, Reason::HardLink);
        } else if entry.size > self.limits.outputs.file_bytes {
            self.skip(path, Reason::TooLarge);
        } else if self.found.outputs.len() >= self.limits.outputs.count
            || self.reported + entry.size > self.limits.outputs.total_bytes
        {
            self.skip(path, Reason::TooMany);
        } else {
            self.reported += entry.size;
            let mime_type = mime::guess(&path, &head).to_owned();
            let sha256 = hex(&sha256);
            self.found.outputs.push(Output {
                path,
                size: entry.size,
                mime_type,
                sha256,
            });
        }
        Ok(())
    }

    /// What is lost is listed in place of what is kept, if not all can be.
    fn skip(&mut self, path: String, reason: Reason) {
        let is_full = self.found.skipped.len() >= MOST_SKIPPED;
        let mut listed = self.found.skipped.iter_mut();
        if is_full
            && reason.is_loss()
            && let Some(kept) = listed.find(|one| !one.reason.is_loss())
            && kept.reason != Reason::More
        {
            let kept = std::mem::replace(kept, Skipped { path, reason });
            return self.skip(kept.path, kept.reason);
        }
        match self.found.skipped.len() {
            listed if listed < MOST_SKIPPED => self.found.skipped.push(Skipped { path, reason }),
            MOST_SKIPPED => {
                self.found.skipped.push(Skipped {
                    path: String::new(),
                    reason: Reason::More,
                });
            }
            _ => {}
        }
    }
}

/// A path as code knows it.
fn kept(path: &str) -> String {
    format!("keeping {path:?}")
}

/// Copies at most `size` bytes, keeps the first few in `head`, and returns the digest.
fn copy_bytes(
    source: File,
    to: &mut File,
    size: u64,
    head: &mut Vec<u8>,
) -> std::io::Result<[u8; 32]> {
    let mut source = source.take(size);
    let mut digest = Sha256::new();
    let mut piece = vec![0; 128 << 10];
    loop {
        let read = source.read(&mut piece)?;
        let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        if head.is_empty() {
            head.extend(bytes.iter().take(mime::HEAD));
        }
        digest.update(bytes);
        to.write_all(bytes)?;
    }
    Ok(digest.finalize().into())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
