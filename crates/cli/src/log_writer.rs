//! Writes the log to standard error without blocking its callers.
//!
//! Lines go into a bounded queue; one thread writes them, in batches. When the queue is
//! full, because the reader of standard error stands still, or when standard error is
//! gone or its disk full, whole lines are dropped and counted, and the count is logged as
//! soon as something can be written again. No request waits, and none fails.
//!
//! The first line after a pause is written at once. Those that follow are gathered, so
//! that under load nobody is woken for a single line.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use prowess_server::request_log::count_dropped;

/// Maximum bytes in the queue. As many may be in the batch being written.
const MAX_WAITING_BYTES: usize = 1 << 20;
/// The writer is woken early when this many bytes are queued.
const WAKE_BYTES: usize = 64 << 10;
/// Time between two batches.
const BATCH_INTERVAL: Duration = Duration::from_millis(50);
/// Pause when standard error is not writable.
const RETRY_PAUSE: Duration = Duration::from_millis(20);
/// How long the process waits for the last lines when it exits.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

static STANDARD_ERROR: OnceLock<LogWriter> = OnceLock::new();

/// Takes lines for standard error. Clones share the queue.
#[derive(Clone)]
pub(crate) struct LogWriter(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    /// Notifies the writer of work.
    work: Condvar,
    /// Notifies waiting threads that everything is written.
    idle: Condvar,
}

#[derive(Default)]
struct Queue {
    lines: Vec<u8>,
    /// Lines dropped since the last batch.
    dropped: u64,
    writer: Writer,
    /// Whether the next batch is written immediately.
    urgent: bool,
}

/// The state of the writer.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Writer {
    /// Waits for a line.
    #[default]
    Idle,
    /// Waits for more lines.
    Gathering,
    /// Was woken, or writes.
    Busy,
}

impl LogWriter {
    /// The writer to standard error, started by the first call.
    pub(crate) fn standard_error() -> LogWriter {
        let start = || LogWriter::start(standard_error_file());
        STANDARD_ERROR.get_or_init(start).clone()
    }

    /// The same, if it was started.
    pub(crate) fn started() -> Option<&'static LogWriter> {
        STANDARD_ERROR.get()
    }

    fn start(target: Option<impl Write + Send + 'static>) -> LogWriter {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            work: Condvar::new(),
            idle: Condvar::new(),
        });
        let mut output = Output {
            target,
            lost: 0,
            torn: false,
        };
        let writer = Arc::clone(&shared);
        let run = move || {
            loop {
                let batch = writer.next_batch();
                let buffer = output.write(batch);
                writer.recycle(buffer);
            }
        };
        // Without the thread the queue fills up, and lines are dropped and counted.
        let _ = std::thread::Builder::new()
            .name("prowess-log".to_owned())
            .spawn(run);
        LogWriter(shared)
    }

    /// Queues a line with its newline, or drops it when the queue is full. An urgent one is
    /// written at once.
    pub(crate) fn push(&self, line: &[u8], urgent: bool) {
        let mut queue = self.0.lock();
        if queue.lines.len().saturating_add(line.len()) > MAX_WAITING_BYTES {
            queue.dropped += 1;
            drop(queue);
            return count_dropped(1);
        }
        queue.lines.extend_from_slice(line);
        queue.urgent |= urgent;
        let wake = match queue.writer {
            Writer::Idle => true,
            Writer::Gathering => urgent || queue.lines.len() >= WAKE_BYTES,
            Writer::Busy => false,
        };
        if wake {
            queue.writer = Writer::Busy;
            drop(queue);
            self.0.work.notify_one();
        }
    }

    /// Waits until all lines so far are written, within a short time limit.
    pub(crate) fn flush(&self) {
        let until = Instant::now() + FLUSH_TIMEOUT;
        let mut queue = self.0.lock();
        while !queue.lines.is_empty() || queue.writer != Writer::Idle {
            queue.urgent = true;
            self.0.work.notify_one();
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.0.idle.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Lines to be written together.
struct Batch {
    lines: Vec<u8>,
    /// Lines dropped after them.
    dropped: u64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for lines.
    fn next_batch(&self) -> Batch {
        let mut queue = self.lock();
        while queue.lines.is_empty() {
            queue.writer = Writer::Idle;
            self.idle.notify_all();
            queue = self
                .work
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        queue.writer = Writer::Busy;
        queue.urgent = false;
        Batch {
            lines: mem::take(&mut queue.lines),
            dropped: mem::take(&mut queue.dropped),
        }
    }

    /// Returns an empty buffer for reuse, and lets lines accumulate before the next batch.
    fn recycle(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let until = Instant::now() + BATCH_INTERVAL;
        let mut queue = self.lock();
        if queue.lines.is_empty() {
            queue.lines = buffer;
        }
        while !queue.urgent && queue.lines.len() < WAKE_BYTES {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            queue.writer = Writer::Gathering;
            let waited = self.work.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.writer = Writer::Busy;
        if queue.lines.is_empty() {
            queue.urgent = false;
        }
    }
}

/// Where batches go.
struct Output<W> {
    target: Option<W>,
    /// Lines that failed since the last successful write.
    lost: u64,
    /// Whether the last line written is incomplete.
    torn: bool,
}

impl<W: Write> Output<W> {
    /// Writes a batch, or counts it as lost. Returns its buffer.
    fn write(&mut self, batch: Batch) -> Vec<u8> {
        let Batch { lines, dropped } = batch;
        let before = mem::take(&mut self.lost);
        let mut head = Vec::new();
        if self.torn {
            head.push(b'\n');
        }
        if before > 0 {
            head.extend_from_slice(report(before).as_bytes());
        }
        let written = match self.write_all(&head) {
            Ok(()) => self.write_all(&lines),
            Err(_) => Err(count_lines(&lines)),
        };
        match written {
            Ok(()) if dropped > 0 => {
                if self.write_all(report(dropped).as_bytes()).is_err() {
                    self.lost = dropped;
                }
            }
            Ok(()) => {}
            Err(unwritten) => {
                count_dropped(unwritten);
                self.lost = before.saturating_add(unwritten).saturating_add(dropped);
            }
        }
        lines
    }

    /// Writes bytes; on failure, returns how many lines were not written.
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), u64> {
        let mut rest = bytes;
        while let (Some(target), false) = (&mut self.target, rest.is_empty()) {
            match target.write(rest) {
                Ok(count) if count > 0 => {
                    let (written, left) = rest.split_at(count.min(rest.len()));
                    self.torn = written.last() != Some(&b'\n');
                    rest = left;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(RETRY_PAUSE);
                }
                Ok(_) | Err(_) => break,
            }
        }
        match count_lines(rest) {
            0 => Ok(()),
            lines => Err(lines),
        }
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// The line that reports how many lines were dropped.
fn report(count: u64) -> String {
    let now = jiff::Timestamp::now();
    format!(
        "{{\"timestamp\":\"{now:.6}\",\"level\":\"WARN\",\"message\":\"log lines dropped\",\"count\":{count}}}\n"
    )
}

/// Standard error without the standard library's lock, which is held during a write: a
/// reader that stalls must not block other users of that lock.
#[cfg(unix)]
fn standard_error_file() -> Option<File> {
    use std::os::fd::AsFd;
    let own = io::stderr().as_fd().try_clone_to_owned();
    own.map(File::from).ok()
}

#[cfg(windows)]
fn standard_error_file() -> Option<File> {
    use std::os::windows::io::AsHandle;
    let own = io::stderr().as_handle().try_clone_to_owned();
    own.map(File::from).ok()
}

#[cfg(test)]
#[path = "log_writer_tests.rs"]
mod tests;
