//! Room on the file systems of this machine: how much there is, and whether it is
//! used up.
//!
//! Content is refused while less than the reserve is free, so that the database can
//! always write what makes room again: deletions.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Bytes of a file that are written to find out whether anything can be.
const PROBE_BYTES: usize = 64 << 10;

/// The file systems that content and rows go to, as far as they are of this machine.
pub(crate) struct DiskSpace {
    folders: Vec<PathBuf>,
    reserve: u64,
}

impl DiskSpace {
    pub(crate) fn new(folders: Vec<PathBuf>, reserve: u64) -> Self {
        DiskSpace { folders, reserve }
    }

    /// Refuses content of this size when it would leave less than the reserve.
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
                    "{free} bytes are free, {more} are to be written, and {} are kept in reserve",
                    self.reserve
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// Bytes that can still be written to the file system of a folder, if it says so.
#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}

/// Whether a failure says that there is no room left.
pub(crate) fn is_storage_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

/// Whether nothing more can be written to a folder for want of room.
pub(crate) async fn is_full(folder: PathBuf) -> bool {
    let written = tokio::task::spawn_blocking(move || write_probe(&folder)).await;
    matches!(written, Ok(Err(error)) if is_storage_full(&error))
}

/// Whether a folder takes a file.
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
