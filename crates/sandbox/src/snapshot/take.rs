//! Takes a snapshot: walks the folder of a container beneath its descriptor, without
//! following a link. No command may be running in the container.

use super::identity::{FileIdentity, now_nanos};
use super::{MAX_PATH_BYTES, RecordedEntry, Snapshot, SnapshotContent, SnapshotEntry, link_target};
use crate::collect::MAX_FOLDER_DEPTH;
use crate::collect::folder::{EntryKind, FileEntry, FolderHandle};
use crate::error::{Error, ErrorContext};
use crate::policy::SandboxLimits;
use bytes::Bytes;
use prowess_skill::Digest;
use rustix::fs::readlinkat;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::ffi::CStr;
use std::io::{self, Read};
use std::path::Path;

const READ_FAILED: &str = "cannot read the files of the container";

const BUFFER_BYTES: usize = 128 << 10;

/// Bytes of a content that is returned with a snapshot, and of all those together.
const MAX_CONTENT_BYTES: u64 = 64 << 10;
const MAX_CONTENTS_BYTES: u64 = 1 << 20;
/// What a smaller content is counted as, so that their number is limited, too.
const MIN_COUNTED_BYTES: u64 = 1 << 10;

/// Takes a snapshot of a folder. Files that have not changed since `previous` are not read.
pub(crate) fn take(
    data: &Path,
    limits: &SandboxLimits,
    previous: Option<&Snapshot>,
) -> Result<Snapshot, Error> {
    walk(data, limits, previous, 0).map(|(found, _)| found)
}

/// The same, with small contents of the files that were read, as many as there is room for: who
/// needs them need not read the files again.
pub(crate) fn take_with_contents(
    data: &Path,
    limits: &SandboxLimits,
    previous: &Snapshot,
) -> Result<(Snapshot, HashMap<Digest, Bytes>), Error> {
    walk(data, limits, Some(previous), MAX_CONTENTS_BYTES)
}

fn walk(
    data: &Path,
    limits: &SandboxLimits,
    previous: Option<&Snapshot>,
    room: u64,
) -> Result<(Snapshot, HashMap<Digest, Bytes>), Error> {
    let folder = FolderHandle::open_path(data).at(READ_FAILED, data)?;
    let mut walk = SnapshotWalk {
        limits,
        previous,
        bytes: 0,
        buffer: vec![0; BUFFER_BYTES],
        contents: HashMap::new(),
        room,
        found: Snapshot {
            taken_at: now_nanos(),
            ..Snapshot::default()
        },
    };
    walk.add_folder(&folder, "", 0)?;
    let mut found = walk.found;
    found
        .entries
        .sort_by(|a, b| a.entry.path.cmp(&b.entry.path));
    Ok((found, walk.contents))
}

struct SnapshotWalk<'a> {
    limits: &'a SandboxLimits,
    previous: Option<&'a Snapshot>,
    /// Lengths of files and of links' targets so far.
    bytes: u64,
    buffer: Vec<u8>,
    /// Small contents that were read.
    contents: HashMap<Digest, Bytes>,
    /// Bytes of further ones.
    room: u64,
    found: Snapshot,
}

impl SnapshotWalk<'_> {
    fn add_folder(&mut self, folder: &FolderHandle, path: &str, depth: usize) -> Result<(), Error> {
        for entry in folder.entries().context(READ_FAILED)? {
            // Other names belong to an interrupted write: see `collect`.
            let name = entry.name.to_str().ok();
            let Some(name) = name.filter(|name| !name.chars().any(char::is_control)) else {
                continue;
            };
            let here = join(path, name);
            if here.len() > MAX_PATH_BYTES || depth >= MAX_FOLDER_DEPTH {
                self.found.omitted += 1;
                continue;
            }
            let reading = || format!("cannot read {here:?}");
            match entry.kind {
                EntryKind::Folder => {
                    let down = folder.enter(&entry.name).context(reading())?;
                    self.add(here.clone(), &entry, SnapshotContent::Directory, 0, None)?;
                    self.add_folder(&down, &here, depth + 1)?;
                }
                EntryKind::Symlink => {
                    let target = readlinkat(folder, &entry.name, Vec::new()).context(reading())?;
                    let size = target.as_bytes().len() as u64;
                    let target = link_target::encode(target.as_bytes());
                    self.add(here, &entry, SnapshotContent::Link(target), size, None)?;
                }
                EntryKind::File => {
                    let identity = FileIdentity::read(folder, &entry.name).context(reading())?;
                    let known = self.previous;
                    let known = known.and_then(|known| known.known_content(&here, &identity));
                    let (digest, size) = match known {
                        Some(known) => known,
                        None => self
                            .hash_file(folder, &entry.name, self.limits.data_bytes)
                            .context(reading())?,
                    };
                    let content = SnapshotContent::File(digest);
                    self.add(here, &entry, content, size, Some(identity))?;
                }
                // Such entries are never stored in a container.
                EntryKind::Deleted | EntryKind::Special => {}
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        path: String,
        found: &FileEntry,
        content: SnapshotContent,
        size: u64,
        identity: Option<FileIdentity>,
    ) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(size);
        let entries = self.found.entries.len() as u64;
        if self.bytes > self.limits.data_bytes || entries >= self.limits.container_entries {
            return Err(over_quota(path, self.bytes, self.limits));
        }
        let mode = match content {
            SnapshotContent::Link(_) => 0,
            _ => i64::from(found.mode),
        };
        let entry = SnapshotEntry {
            path,
            content,
            size,
            mode,
        };
        self.found.entries.push(RecordedEntry { entry, identity });
        Ok(())
    }

    /// The digest and length of a file; of one that is too long, only of its beginning.
    fn hash_file(
        &mut self,
        folder: &FolderHandle,
        name: &CStr,
        max: u64,
    ) -> io::Result<(Digest, u64)> {
        let mut file = folder.open_file(name)?.take(max.saturating_add(1));
        let mut hash = Sha256::new();
        let mut size = 0;
        let max_kept = self.room.min(MAX_CONTENT_BYTES);
        let mut content = Vec::new();
        loop {
            let read = file.read(&mut self.buffer)?;
            let Some(bytes) = self.buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
                break;
            };
            hash.update(bytes);
            size += read as u64;
            if size <= max_kept {
                content.extend_from_slice(bytes);
            }
        }
        let digest = finish_digest(hash)?;
        let counted = size.max(MIN_COUNTED_BYTES);
        if size <= max_kept && counted <= self.room {
            self.room -= counted;
            self.contents.insert(digest, content.into());
        }
        Ok((digest, size))
    }
}

/// The error for an entry beyond the limits of the container.
pub(super) fn over_quota(path: String, bytes: u64, limits: &SandboxLimits) -> Error {
    let (allowed, unit) = if bytes > limits.data_bytes {
        (limits.data_bytes, "bytes")
    } else {
        (limits.container_entries, "files and folders")
    };
    Error::OverQuota {
        path,
        allowed,
        unit,
    }
}

/// A path below another one.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}/{name}")
    }
}

/// A finished hash as a digest.
pub(super) fn finish_digest(hash: Sha256) -> io::Result<Digest> {
    let hex: String = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{hex}").parse().map_err(io::Error::other)
}
