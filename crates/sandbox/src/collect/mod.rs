//! Taking what a command wrote into its session's folder, once every process is dead.
//!
//! The command wrote to a tmpfs of its own (see `prowess_launcher::spec::Data`), which
//! holds exactly what is new, changed or, as an overlay marks it, deleted. Only what we
//! copy from there reaches the disk: bytes of regular files, folders, and links as text.
//! Nothing is followed, on either side: every name is opened in its folder's descriptor,
//! and the kernel is told to resolve no link.

pub(crate) mod folder;
mod mime;
mod mirror;
mod usage;

pub use mime::guess as mime_type;
pub(crate) use mirror::{mirror, remove_missing};
pub(crate) use usage::{Usage, measure};

use crate::error::{During, Error};
use crate::policy::Limits;
use folder::{Entry, Folder, Kind};
use rustix::fd::{AsFd, OwnedFd};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

/// Folders within folders that are followed down.
const DEEPEST: usize = 32;

/// Entries reported as skipped; the last one tells that there were more.
const MOST_SKIPPED: usize = 100;

/// A file the command made or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Path relative to `/mnt/data`.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// Type by content and name.
    pub mime_type: String,
    /// SHA-256 of the content, in hex.
    pub sha256: String,
}

/// Something that was found and not reported as an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Path relative to `/mnt/data`, with what is not text replaced.
    pub path: String,
    /// Why.
    pub reason: Reason,
}

/// Why something is not an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A symbolic link: kept in the session, never followed.
    Symlink,
    /// A file with more than one name: each name is kept as a file of its own.
    HardLink,
    /// A fifo, socket or device: not kept.
    Special,
    /// A name that is not text, or holds control characters: not kept.
    Name,
    /// Deeper than folders are followed: not kept.
    Depth,
    /// Larger than one output may be: kept in the session.
    TooLarge,
    /// More outputs, or more bytes of them, than are reported: kept in the session.
    TooMany,
    /// More than the session may hold: not kept.
    Quota,
    /// More was skipped than is listed.
    More,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) outputs: Vec<Output>,
    pub(crate) skipped: Vec<Skipped>,
}

/// Moves what is in `written` into the folder `into`. `owner` is the id to give things
/// to, when we may; `used` what the folder holds before.
pub(crate) fn take(
    written: &OwnedFd,
    into: &Path,
    owner: Option<u32>,
    used: u64,
    limits: &Limits,
) -> Result<Collected, Error> {
    let mut taker = Taker {
        limits,
        owner,
        left: limits.data_bytes.saturating_sub(used),
        reported: 0,
        found: Collected::default(),
    };
    let from = Folder::reopen(written.as_fd()).during("what was written")?;
    let into = Folder::open_path(into).during(into.display())?;
    taker.folder(&from, &into, "", 0)?;
    taker.found.outputs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(taker.found)
}

/// Whether a folder is surely empty.
pub(crate) fn is_empty(folder: &OwnedFd) -> bool {
    let entries = Folder::reopen(folder.as_fd()).and_then(|folder| folder.entries());
    entries.is_ok_and(|entries| entries.is_empty())
}

struct Taker<'a> {
    limits: &'a Limits,
    owner: Option<u32>,
    /// Bytes the session may still take.
    left: u64,
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
            let here = if path.is_empty() {
                name.into_owned()
            } else {
                format!("{path}/{name}")
            };
            let text = entry
                .name
                .to_str()
                .is_ok_and(|name| !name.chars().any(char::is_control));
            match entry.kind {
                // Deleted by the command: an overlay's mark, not a device.
                Kind::Deleted => into.remove(&entry.name).during(&here)?,
                _ if !text => self.skip(here, Reason::Name),
                Kind::Special => {
                    into.remove(&entry.name).during(&here)?;
                    self.skip(here, Reason::Special);
                }
                Kind::Symlink => {
                    into.copy_link(from, &entry.name, self.owner)
                        .during(&here)?;
                    self.skip(here, Reason::Symlink);
                }
                Kind::Folder if depth + 1 >= DEEPEST => self.skip(here, Reason::Depth),
                Kind::Folder => {
                    let down = from.enter(&entry.name).during(&here)?;
                    let replaces = down.is_opaque();
                    let target = into
                        .make(&entry.name, entry.mode, self.owner, replaces)
                        .during(&here)?;
                    self.folder(&down, &target, &here, depth + 1)?;
                }
                Kind::File => self.file(from, into, &entry, here)?,
            }
        }
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
        let room = self.left.saturating_add(into.size(&entry.name));
        let Some(left) = room.checked_sub(entry.size) else {
            self.skip(path, Reason::Quota);
            return Ok(());
        };
        self.left = left;
        let source = from.open_file(&entry.name).during(&path)?;
        let mut head = Vec::new();
        let copy = into.new_file(entry.mode, self.owner).during(&path)?;
        let sha256 = copy_bytes(source, &copy.file, entry.size, &mut head).during(&path)?;
        let changed = into.digest(&entry.name).is_none_or(|old| old != sha256);
        into.put(copy, &entry.name).during(&path)?;
        if !changed {
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
            let mime_type = mime_type(&path, &head).to_owned();
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

    fn skip(&mut self, path: String, reason: Reason) {
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

/// Copies at most `size` bytes, keeps the first few in `head`, and returns the digest.
fn copy_bytes(
    source: File,
    mut to: &File,
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
