//! A named pipe that a server logs to, and its reader, which can close it or stall.
//!
//! A named pipe lets another reader come after the first has left, as a collector of
//! logs that is restarted.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::pipe::fcntl_setpipe_size;

/// The least a pipe can have, so that a light load fills it in seconds.
const PIPE_BYTES: usize = 4_096;
/// How often an empty pipe is looked at, and a change of what is wanted is noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// After this many looks the reader must do what is wanted.
const MAX_POLLS: u32 = 1_000;

/// The state of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PipeState {
    /// Reads all there is.
    On,
    /// Has the pipe open and reads nothing.
    Stalled,
    /// Has closed the pipe.
    Gone,
}

/// The reader; it ends when this is dropped.
pub(crate) struct LogPipe {
    target: Arc<AtomicU8>,
    current: Arc<AtomicU8>,
}

impl LogPipe {
    /// Makes a pipe with a reader, and gives what a server writes to.
    pub(crate) fn create(path: PathBuf) -> Result<(LogPipe, Stdio)> {
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).context("no pipe")?;
        let reader = open_reader(&path)?;
        let writer = OpenOptions::new().write(true).open(&path)?;
        fcntl_setpipe_size(&writer, PIPE_BYTES).context("the pipe keeps its size")?;
        let pipe = LogPipe {
            target: Arc::new(AtomicU8::new(PipeState::On as u8)),
            current: Arc::new(AtomicU8::new(PipeState::On as u8)),
        };
        let (target, current) = (Arc::downgrade(&pipe.target), Arc::clone(&pipe.current));
        std::thread::Builder::new()
            .name("log reader".to_owned())
            .spawn(move || read_log(&path, Some(reader), &target, &current))
            .context("cannot start the log's reader")?;
        Ok((pipe, writer.into()))
    }

    /// Changes the reader's state, and waits until it has.
    pub(crate) fn set(&self, reading: PipeState) -> Result<()> {
        self.target.store(reading as u8, Ordering::Release);
        for _ in 0..MAX_POLLS {
            if self.current.load(Ordering::Acquire) == reading as u8 {
                return Ok(());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        anyhow::bail!("the log's reader does not change to {reading:?}")
    }
}

/// Does not wait for a writer, neither here nor when reading.
fn open_reader(path: &Path) -> Result<File> {
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits())?;
    let mut options = OpenOptions::new();
    let reader = options.read(true).custom_flags(nonblocking).open(path);
    reader.context("cannot open the pipe")
}

fn read_log(path: &Path, mut pipe: Option<File>, target: &Weak<AtomicU8>, current: &AtomicU8) {
    let mut buffer = vec![0; 64 << 10];
    while let Some(target) = target.upgrade() {
        let target = target.load(Ordering::Acquire);
        if target == PipeState::Gone as u8 {
            pipe = None;
        } else if pipe.is_none() {
            pipe = open_reader(path).ok();
        }
        if pipe.is_some() || target == PipeState::Gone as u8 {
            current.store(target, Ordering::Release);
        }
        if target == PipeState::On as u8 {
            let read = pipe.as_mut().map(|pipe| pipe.read(&mut buffer));
            match read {
                Some(Ok(1..)) => continue,
                Some(Err(error)) if error.kind() == ErrorKind::Interrupted => continue,
                // Nothing there now, or no writer any more.
                _ => {}
            }
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
