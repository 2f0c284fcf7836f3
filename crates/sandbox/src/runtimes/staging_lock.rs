//! Who installs a runtime: one process at a time.
//!
//! The lock is on the log of the installation, to which its programs write. They inherit the
//! open file, so when the installation is killed, it stays locked until the last of them has
//! ended too, and none of them writes into the next installation.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::error::{AtPlace, RuntimeError};

const LOG_FILE: &str = "install.log";
const FAILED: &str = "cannot lock the runtime";
/// What the first line of the log begins with; the id of the process follows.
const HOLDER: &str = "installed by process ";

/// Lines and bytes of the log in an error.
const MAX_TAIL_LINES: usize = 15;
const MAX_TAIL_BYTES: u64 = 3_000;

/// Held during an installation, or while a runtime is removed.
#[derive(Debug)]
pub(super) struct StagingLock {
    place: PathBuf,
    file: File,
}

impl StagingLock {
    /// The lock of a runtime's folder, or `None` if another process has it.
    pub(super) fn try_acquire(folder: &Path) -> Result<Option<Self>, RuntimeError> {
        let lock = Self::open(folder)?;
        if flock(&lock.file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(None);
        }
        lock.begin().map(Some)
    }

    /// Waits for the lock.
    pub(super) fn acquire(folder: &Path) -> Result<Self, RuntimeError> {
        let lock = Self::open(folder)?;
        loop {
            match flock(&lock.file, FlockOperation::LockExclusive) {
                Err(rustix::io::Errno::INTR) => {}
                locked => break locked.at_place(FAILED, folder)?,
            }
        }
        lock.begin()
    }

    /// The process that has the lock, or had it when it was killed.
    pub(super) fn holder(folder: &Path) -> Option<u32> {
        let text = fs::read(folder.join(LOG_FILE)).ok()?;
        let text = String::from_utf8_lossy(&text);
        text.lines().next()?.strip_prefix(HOLDER)?.parse().ok()
    }

    /// The log, for a program to write to.
    pub(super) fn log(&self) -> Result<File, RuntimeError> {
        let copy = self.file.try_clone();
        copy.at_place("cannot write the log of the installation", &self.place)
    }

    /// The file of the log.
    pub(super) fn log_path(&self) -> &Path {
        &self.place
    }

    /// The end of the log.
    pub(super) fn tail(&self) -> String {
        let text = read_end(&self.place).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let first = lines.len().saturating_sub(MAX_TAIL_LINES);
        lines.into_iter().skip(first).collect::<Vec<_>>().join("\n")
    }

    fn open(folder: &Path) -> Result<Self, RuntimeError> {
        let place = folder.join(LOG_FILE);
        let mut options = OpenOptions::new();
        let opened = options.append(true).create(true).open(&place);
        let file = opened.at_place(FAILED, &place)?;
        Ok(Self { place, file })
    }

    fn begin(mut self) -> Result<Self, RuntimeError> {
        let line = format!("{HOLDER}{}\n", std::process::id());
        let emptied = self.file.set_len(0);
        let written = emptied.and_then(|()| self.file.write_all(line.as_bytes()));
        written.at_place(FAILED, &self.place)?;
        Ok(self)
    }
}

fn read_end(place: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(place)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_TAIL_BYTES)))?;
    let mut text = Vec::new();
    file.take(MAX_TAIL_BYTES).read_to_end(&mut text)?;
    Ok(text)
}
