//! The folder of layers: which exist, which are in use, and which are evicted when their
//! total size exceeds the limit.
//!
//! Each layer has a small file with its owner and size. The modification time of a layer's
//! folder is when it was last used. A command with a mounted layer holds a shared lock on
//! the folder, so that no other server removes it either.

use super::tree::{self, TreeLimits};
use super::{Layer, layer_folder};
use crate::error::{Error, ErrorContext};
use crate::id;
use prowess_launcher::LAYOUT;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, RenameFlags, flock};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Prefix of a layer that is being removed.
const REMOVED_PREFIX: &str = ".removed-";

/// The error when the record of a layer cannot be written.
const RECORD_FAILED: &str = "cannot write the record of a package layer";

/// All layers under one state folder.
#[derive(Debug)]
pub(crate) struct LayerStore {
    state: PathBuf,
    /// Whether built files belong to another id until they are stored.
    root: bool,
    max_bytes: u64,
    /// Held while layers are added or removed.
    changing: Mutex<()>,
}

/// The stored record of a layer.
#[derive(Debug, Serialize, Deserialize)]
struct LayerRecord {
    /// The tenant that requested it.
    owner: String,
    bytes: u64,
}

/// A layer as a candidate for removal.
#[derive(Debug)]
struct StoredLayer {
    key: String,
    owner: String,
    bytes: u64,
    /// Seconds and nanoseconds since the epoch.
    used: (i64, i64),
}

/// Keeps a layer in use until dropped.
#[derive(Debug)]
pub(crate) struct LayerGuard {
    folder: File,
}

impl Drop for LayerGuard {
    /// Closing the file is not enough: a launcher that is just being started may have a
    /// copy of the descriptor for a moment.
    fn drop(&mut self) {
        // It fails only for a file that is not open.
        let _ = flock(&self.folder, FlockOperation::Unlock);
    }
}

/// Locks the layer among these mounts, if there is one.
pub(crate) fn lock_mounted_layer(
    state: &Path,
    mounts: &[(String, String)],
) -> Result<Option<LayerGuard>, Error> {
    let layer = mounts.iter().find(|(_, inside)| inside == LAYOUT.packages);
    let Some((source, _)) = layer else {
        return Ok(None);
    };
    let held = lock_layer(&state.join(source));
    held.map(Some).ok_or(Error::LayerGone)
}

/// Locks a layer, unless it does not exist, is not a folder, or is being removed.
fn lock_layer(place: &Path) -> Option<LayerGuard> {
    let folder = open(place).ok()?;
    flock(&folder, FlockOperation::NonBlockingLockShared).ok()?;
    let held = LayerGuard { folder };
    if held.folder.metadata().ok()?.nlink() == 0 {
        return None;
    }
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let now = Timestamps {
        last_access: now,
        last_modification: now,
    };
    // If it fails, only the time of last use is lost.
    let _ = rustix::fs::futimens(&held.folder, &now);
    Some(held)
}

fn open(place: &Path) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, place, flags, Mode::empty()).map(File::from)
}

impl LayerStore {
    pub(crate) fn new(state: &Path, root: bool, max_bytes: u64) -> Self {
        Self {
            state: state.to_owned(),
            root,
            max_bytes,
            changing: Mutex::default(),
        }
    }

    /// Whether a layer exists; if so, its time of last use is updated.
    pub(crate) fn has(&self, layer: &Layer) -> bool {
        lock_layer(&self.state.join(layer.folder())).is_some()
    }

    /// Stores the result of a build at `built`, a path beneath the state folder, as this
    /// layer. `mounted` returns the mounts of containers, relative to that folder as well.
    pub(crate) fn add(
        &self,
        layer: &Layer,
        built: &str,
        owner: &str,
        mounted: &dyn Fn() -> HashSet<String>,
    ) -> Result<(), Error> {
        let limits = super::build_limits();
        let bounds = TreeLimits {
            entries: limits.data_files,
            bytes: limits.data_bytes.min(self.max_bytes),
        };
        let bytes = tree::accept(&self.state, built, bounds, self.root)?;
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = owner.to_owned();
        self.write_record(&layer.key, &LayerRecord { owner, bytes })?;
        let (from, to) = (self.state.join(built), self.state.join(layer.folder()));
        match rustix::fs::renameat_with(CWD, from, CWD, &to, RenameFlags::NOREPLACE) {
            // Another server has built the same.
            Err(rustix::io::Errno::EXIST) if lock_layer(&to).is_some() => return Ok(()),
            renamed => renamed.context("cannot store the built packages")?,
        }
        let _new = lock_layer(&to);
        self.make_space(&layer.key, mounted).inspect_err(|_| {
            self.remove(&layer.key, true);
        })
    }

    /// Evicts layers until the total is within the limit. First those of the owner with the
    /// highest usage, and of these the least recently used that no container names; never
    /// one in use. Those that containers name come last, unless their owner uses more than
    /// half of the total: otherwise an owner could keep all space by keeping containers.
    fn make_space(&self, new: &str, mounted: &dyn Fn() -> HashSet<String>) -> Result<(), Error> {
        let mut all = self.list();
        let mut used: u64 = all.iter().map(|one| one.bytes).sum();
        if used <= self.max_bytes {
            return Ok(());
        }
        let mounted = mounted();
        let is_named = |one: &StoredLayer| mounted.contains(&layer_folder(&one.key));
        let mut by_owner: HashMap<String, u64> = HashMap::new();
        for one in &all {
            *by_owner.entry(one.owner.clone()).or_default() += one.bytes;
        }
        all.retain(|one| one.key != new);
        while used > self.max_bytes {
            let taken = |one: &StoredLayer| by_owner.get(&one.owner).copied().unwrap_or(0);
            let first = all.iter().enumerate().min_by_key(|(_, one)| {
                let (taken, is_named) = (taken(one), is_named(one));
                let is_last = is_named && taken <= self.max_bytes / 2;
                (is_last, Reverse(taken), is_named, one.used)
            });
            let Some((place, _)) = first else {
                let why = "no space for more packages while the existing ones are in use; try again later";
                return Err(Error::Layer { why: why.into() });
            };
            let one = all.swap_remove(place);
            if self.remove(&one.key, false) {
                used = used.saturating_sub(one.bytes);
                if let Some(taken) = by_owner.get_mut(&one.owner) {
                    *taken = taken.saturating_sub(one.bytes);
                }
            }
        }
        Ok(())
    }

    fn list(&self) -> Vec<StoredLayer> {
        let entries = fs::read_dir(self.folder()).into_iter().flatten().flatten();
        let mut all = Vec::new();
        for entry in entries {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if name.starts_with(REMOVED_PREFIX) {
                // Left by a server that was killed.
                let _ = fs::remove_dir_all(entry.path());
            } else if crate::name::check_word("layer", &name).is_ok() {
                all.extend(self.stored_layer(name));
            }
        }
        all
    }

    fn stored_layer(&self, key: String) -> Option<StoredLayer> {
        let found = fs::symlink_metadata(self.folder().join(&key)).ok()?;
        let facts = fs::read(self.record_path(&key)).ok();
        let facts = facts.and_then(|text| serde_json::from_slice::<LayerRecord>(&text).ok());
        // From an earlier version: counted with the maximum size, so evicted first.
        let facts = facts.unwrap_or(LayerRecord {
            owner: String::new(),
            bytes: super::build_limits().data_bytes,
        });
        Some(StoredLayer {
            key,
            owner: facts.owner,
            bytes: facts.bytes,
            used: (found.mtime(), found.mtime_nsec()),
        })
    }

    /// Removes a layer unless it is in use; `ours` is one that nobody else can use yet.
    fn remove(&self, key: &str, ours: bool) -> bool {
        let place = self.folder().join(key);
        let folder = open(&place).ok();
        if let Some(folder) = &folder
            && !ours
            && flock(folder, FlockOperation::NonBlockingLockExclusive).is_err()
        {
            return false;
        }
        let Ok(random) = id::random_id() else {
            return false;
        };
        // Renamed in one step, so that nobody finds a partial layer.
        let removed = self.folder().join(format!("{REMOVED_PREFIX}{random}"));
        if fs::rename(&place, &removed).is_err() {
            return false;
        }
        // What cannot be removed is tried again later.
        let _ = match folder {
            Some(_) => fs::remove_dir_all(&removed),
            None => fs::remove_file(&removed),
        };
        let _ = fs::remove_file(self.record_path(key));
        true
    }

    fn write_record(&self, key: &str, record: &LayerRecord) -> Result<(), Error> {
        let text = serde_json::to_vec(record).map_err(std::io::Error::other);
        let part = self.folder().join(format!(".part-{}", id::random_id()?));
        fs::write(&part, text.context(RECORD_FAILED)?).context(RECORD_FAILED)?;
        fs::rename(&part, self.record_path(key)).context(RECORD_FAILED)
    }

    fn record_path(&self, key: &str) -> PathBuf {
        self.folder().join(format!("{key}.json"))
    }

    fn folder(&self) -> PathBuf {
        self.state.join("layers")
    }
}

#[cfg(test)]
mod tests;
