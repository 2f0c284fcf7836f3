//! Free space on local file systems.
//!
//! New content is refused while less than the reserve is free, so that the database can
//! always write deletions, which free space again.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Size of the file written to test whether anything can be written.
const PROBE_BYTES: usize = 64 << 10;

/// The local file systems that store content and rows.
pub(crate) struct DiskSpace {
    folders: Vec<PathBuf>,
    reserve: u64,
}

impl DiskSpace {
    pub(crate) fn new(folders: Vec<PathBuf>, reserve: u64) -> Self {
        DiskSpace { folders, reserve }
    }

    /// Refuses content of this size if it would leave less than the reserve.
    pub(crate) fn check(&self, more: u64) -> Result<()> {
        if self.reserve == 0 {
            return Ok(());
        }
        let needed = self.reserve.saturating_add(more);
        let free = self
            .folders
            .iter()
            .filter_map(|folder| free_bytes(folder))
            .min();
        match free {
            Some(free) if free < needed => Err(Error::StorageFull {
                part: "file system",
                cause: format!(
                    "{free} bytes are free, {more} are needed, and {} are reserved",
                    self.reserve
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// Free bytes on the file system of a folder, if known.
#[cfg(unix)]
#[must_use]
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Free bytes on the file system of a folder, if known.
#[cfg(not(unix))]
#[must_use]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Whether an error means that there is no space left.
pub(crate) fn is_storage_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

/// Whether nothing more can be written to a folder for lack of space.
pub(crate) async fn is_full(folder: PathBuf) -> bool {
    let written = tokio::task::spawn_blocking(move || write_probe(&folder)).await;
    matches!(written, Ok(Err(error)) if is_storage_full(&error))
}

/// Whether a file can be written to a folder.
pub(crate) async fn probe_folder(folder: PathBuf) -> io::Result<()> {
    let written = tokio::task::spawn_blocking(move || write_probe(&folder)).await;
    written.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn write_probe(folder: &Path) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let file = folder.join(format!(".space-probe-{}-{number}", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&file)
        .and_then(|mut file| file.write_all(&[0; PROBE_BYTES]));
    match (written, fs::remove_file(&file)) {
        (Err(error), _) => Err(error),
        (Ok(()), removed) => removed,
    }
}
