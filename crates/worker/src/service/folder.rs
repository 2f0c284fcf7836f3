//! The state folder of a worker, which no other process may use.

use super::error::WorkerError;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The lock file.
const LOCK_FILE: &str = "worker.lock";

/// The folder, locked until this is dropped.
#[derive(Debug)]
pub(super) struct StateFolder {
    path: PathBuf,
    _lock: File,
}

impl StateFolder {
    /// Creates the folder if it is missing, and locks it.
    pub(super) fn open(path: &Path) -> Result<Self, WorkerError> {
        let folder = path.display().to_string();
        let failed = |source: io::Error| WorkerError::Folder {
            folder: folder.clone(),
            source,
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(failed)?;
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let lock = options.open(path.join(LOCK_FILE)).map_err(failed)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(WorkerError::InUse {
                folder: folder.clone(),
            }),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Where contents are cached.
    pub(super) fn contents(&self) -> PathBuf {
        self.path.join("contents")
    }
}
