//! Recognises a file that was hashed before, without reading it again.

use crate::collect::folder::FolderHandle;
use rustix::fs::{AtFlags, statat};
use std::ffi::CStr;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

/// File systems take the time of a change from a clock with coarse ticks: a file that was
/// written again within this time can look the same.
const CLOCK_TICK_NANOS: i128 = 100_000_000;

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// What changes whenever a file is written or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: i128,
    inode: i128,
    size: i128,
    /// Nanoseconds since the epoch.
    modified_at: i128,
    /// Nanoseconds since the epoch. Programs cannot set it.
    changed_at: i128,
}

impl FileIdentity {
    /// The identity of an entry of a folder; of a link, not of its target.
    pub(super) fn read(folder: &FolderHandle, name: &CStr) -> io::Result<Self> {
        let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let nanos = |seconds: i128, nanos: i128| seconds * NANOS_PER_SECOND + nanos;
        Ok(Self {
            device: i128::from(found.st_dev),
            inode: i128::from(found.st_ino),
            size: i128::from(found.st_size),
            modified_at: nanos(i128::from(found.st_mtime), i128::from(found.st_mtime_nsec)),
            changed_at: nanos(i128::from(found.st_ctime), i128::from(found.st_ctime_nsec)),
        })
    }

    /// Whether any later change of the file has a later time than a snapshot taken at
    /// `taken_at` has recorded.
    pub(super) fn is_settled(&self, taken_at: i128) -> bool {
        self.changed_at + CLOCK_TICK_NANOS < taken_at
    }
}

/// Nanoseconds since the epoch.
pub(super) fn now_nanos() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i128::try_from(since.as_nanos()).unwrap_or_default()
    })
}
