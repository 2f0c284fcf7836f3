//! What commands did since the sandbox was opened, as counters. Must not know who shows them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::Error;
use crate::execution::CommandOutcome;

/// Counters of commands.
#[derive(Debug, Default)]
pub(crate) struct CommandCounters {
    exited: AtomicU64,
    failed: AtomicU64,
    signalled: AtomicU64,
    timed_out: AtomicU64,
    out_of_memory: AtomicU64,
    flooded: AtomicU64,
    refused: AtomicU64,
    broken: AtomicU64,
    run_micros: AtomicU64,
    wait_micros: AtomicU64,
}

/// What commands did since the sandbox was opened, and what they do now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxStatistics {
    /// Commands by how they ended: `exited` (code 0), `failed` (another code), `signal`,
    /// `timeout`, `out-of-memory`, `output-flood`, `refused` (too many waited), and `error` (the
    /// sandbox could not run them).
    pub commands: [(&'static str, u64); 8],
    /// How long they ran, together.
    pub run_time: Duration,
    /// How long they waited for their turn, together.
    pub wait_time: Duration,
    /// Commands that run.
    pub running: usize,
    /// Commands that wait.
    pub waiting: usize,
    /// Provisioned sandboxes that wait for a command.
    pub warm: usize,
}

impl CommandCounters {
    /// A command has waited for its turn.
    pub(crate) fn add_wait(&self, waited: Duration) {
        add(&self.wait_micros, micros(waited));
    }

    /// A command has run.
    pub(crate) fn add_run(&self, outcome: CommandOutcome, elapsed: Duration) {
        add(&self.run_micros, micros(elapsed));
        let counter = match outcome {
            CommandOutcome::Exit(0) => &self.exited,
            CommandOutcome::Exit(_) => &self.failed,
            CommandOutcome::Signal(_) => &self.signalled,
            CommandOutcome::Timeout => &self.timed_out,
            CommandOutcome::OutOfMemory => &self.out_of_memory,
            CommandOutcome::OutputFlood => &self.flooded,
        };
        add(counter, 1);
    }

    /// A command could not be run.
    pub(crate) fn add_error(&self, error: &Error) {
        let counter = match error {
            Error::Busy { .. } | Error::NoWorker { .. } => &self.refused,
            _ => &self.broken,
        };
        add(counter, 1);
    }

    /// The counters, without what commands do now.
    pub(crate) fn statistics(&self) -> SandboxStatistics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SandboxStatistics {
            commands: [
                ("exited", read(&self.exited)),
                ("failed", read(&self.failed)),
                ("signal", read(&self.signalled)),
                ("timeout", read(&self.timed_out)),
                ("out-of-memory", read(&self.out_of_memory)),
                ("output-flood", read(&self.flooded)),
                ("refused", read(&self.refused)),
                ("error", read(&self.broken)),
            ],
            run_time: Duration::from_micros(read(&self.run_micros)),
            wait_time: Duration::from_micros(read(&self.wait_micros)),
            ..SandboxStatistics::default()
        }
    }
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
