//! Exclusive use of a container, within this process and among processes.

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

/// Commands and files that may wait for one container.
const MAX_WAITING: usize = 256;

/// The lock that users of a container wait for.
#[derive(Debug, Default)]
pub(super) struct ContainerLock {
    turn: Arc<Mutex<()>>,
    waiting: AtomicUsize,
}

/// Counts one waiter until dropped.
struct WaitingCount<'a>(&'a AtomicUsize);

impl Drop for WaitingCount<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ContainerLock {
    /// Waits for the lock, unless too many wait already.
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

    /// The lock, if it is free.
    pub(super) fn try_acquire(&self) -> Option<OwnedMutexGuard<()>> {
        Arc::clone(&self.turn).try_lock_owned().ok()
    }
}

/// Exclusive access to a container. Others in this process wait; other processes get
/// [`Error::ContainerBusy`].
pub(crate) struct ContainerGuard {
    pub(crate) id: String,
    pub(crate) meta: ContainerMeta,
    pub(super) folder: PathBuf,
    pub(super) file: File,
    pub(super) index: Arc<ContainerIndex>,
    pub(super) _permit: OwnedMutexGuard<()>,
}

impl Drop for ContainerGuard {
    /// Closing the file is not enough: a launcher that is just being started has a copy of
    /// the descriptor for a moment.
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

    /// Saves the time of use and the size of its files.
    pub(crate) fn save(&mut self) -> Result<(), Error> {
        self.meta.usage = measure(&self.data(), DiskUsage::MAX, &mut |_, _| {})?.usage;
        self.touch()
    }

    /// Saves the time of use; the files have not changed.
    pub(crate) fn touch(&mut self) -> Result<(), Error> {
        self.meta.used = epoch_seconds();
        // Also if the file cannot be written: its usage counts anyway.
        self.index.set(&self.id, &self.meta);
        self.meta.save(&self.folder)
    }
}
