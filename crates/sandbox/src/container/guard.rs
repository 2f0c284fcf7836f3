//! A session in use: by one at a time in this process, and by no other process.

use super::index::ContainerIndex;
use super::meta::{ContainerMeta, epoch_seconds};
use crate::collect::{DiskUsage, measure};
use crate::error::Error;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Commands and files that may wait for one session.
const MAX_WAITING: usize = 256;

/// What those who want a session wait at.
#[derive(Debug, Default)]
pub(super) struct ContainerLock {
    turn: Arc<Mutex<()>>,
    waiting: AtomicUsize,
}

/// Counts one who waits, for as long as it lives.
struct WaitingCount<'a>(&'a AtomicUsize);

impl Drop for WaitingCount<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ContainerLock {
    /// Waits for the session's turn, unless too many do.
    pub(super) async fn acquire(&self, id: &str) -> Result<OwnedMutexGuard<()>, Error> {
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _counted = WaitingCount(&self.waiting);
        if waiting >= MAX_WAITING {
            return Err(Error::ContainerQueueFull {
                id: id.to_owned(),
                waiting,
            });
        }
        Ok(Arc::clone(&self.turn).lock_owned().await)
    }

    /// The turn, if nobody has it.
    pub(super) fn try_acquire(&self) -> Option<OwnedMutexGuard<()>> {
        Arc::clone(&self.turn).try_lock_owned().ok()
    }
}

/// A session held by one user of it. Others wait, in this process; other processes are
/// told that it is busy.
pub(crate) struct ContainerGuard {
    pub(crate) id: String,
    pub(crate) meta: ContainerMeta,
    pub(super) folder: PathBuf,
    pub(super) file: File,
    pub(super) index: Arc<ContainerIndex>,
    pub(super) _permit: OwnedMutexGuard<()>,
}

impl Drop for ContainerGuard {
    /// Closing the file would do, were it not that a launcher just being started has a
    /// copy of it for a moment.
    fn drop(&mut self) {
        self.index.reserve(&self.id, 0);
        // It fails only for a file that is not open.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl ContainerGuard {
    /// The folder behind `/mnt/data`.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Remembers that it was used just now, and what it holds.
    pub(crate) fn save(&mut self) -> Result<(), Error> {
        self.meta.usage = measure(&self.data(), DiskUsage::MAX, &mut |_, _| {})?.usage;
        self.touch()
    }

    /// Remembers that it was used just now; what it holds has not changed.
    pub(crate) fn touch(&mut self) -> Result<(), Error> {
        self.meta.used = epoch_seconds();
        // Also where the file cannot be written: what it holds counts all the same.
        self.index.set(&self.id, &self.meta);
        self.meta.save(&self.folder)
    }
}
