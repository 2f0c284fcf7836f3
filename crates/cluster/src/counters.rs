//! What commands of this gateway did, as counters, and how many there are now.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prowess_sandbox::{CommandOutcome, Error, ExecutionReport, SandboxStatistics};
use tokio::sync::watch;

/// Counters of commands, in the order of [`SandboxStatistics::commands`].
#[derive(Debug)]
pub(crate) struct CommandCounts {
    ended: [AtomicU64; 8],
    run_micros: AtomicU64,
    wait_micros: AtomicU64,
    running: watch::Sender<usize>,
}

/// Counts one command as running until dropped.
#[derive(Debug)]
pub(crate) struct RunningCommand<'a>(&'a CommandCounts);

/// How a command ended, as in [`SandboxStatistics::commands`].
const NAMES: [&str; 8] = [
    "exited",
    "failed",
    "signal",
    "timeout",
    "out-of-memory",
    "output-flood",
    "refused",
    "error",
];

impl Default for CommandCounts {
    fn default() -> Self {
        Self {
            ended: Default::default(),
            run_micros: AtomicU64::new(0),
            wait_micros: AtomicU64::new(0),
            running: watch::Sender::new(0),
        }
    }
}

impl CommandCounts {
    /// A command begins to run.
    pub(crate) fn begin(&self) -> RunningCommand<'_> {
        self.running.send_modify(|count| *count += 1);
        RunningCommand(self)
    }

    /// How many run, and every change of that.
    pub(crate) fn running(&self) -> watch::Receiver<usize> {
        self.running.subscribe()
    }

    /// A command has waited for a worker.
    pub(crate) fn add_wait(&self, waited: Duration) {
        add(&self.wait_micros, micros(waited));
    }

    /// A command has ended.
    pub(crate) fn add_end(&self, ended: &Result<ExecutionReport, Error>) {
        let name = match ended {
            Ok(report) => {
                add(&self.run_micros, micros(report.elapsed));
                match report.outcome {
                    CommandOutcome::Exit(0) => "exited",
                    CommandOutcome::Exit(_) => "failed",
                    CommandOutcome::Signal(_) => "signal",
                    CommandOutcome::Timeout => "timeout",
                    CommandOutcome::OutOfMemory => "out-of-memory",
                    CommandOutcome::OutputFlood => "output-flood",
                }
            }
            Err(Error::Busy { .. } | Error::NoWorker { .. }) => "refused",
            Err(_) => "error",
        };
        let counters = NAMES.iter().zip(&self.ended);
        for (_, counter) in counters.filter(|(known, _)| **known == name) {
            add(counter, 1);
        }
    }

    /// All counters; `waiting` commands wait for a worker now.
    pub(crate) fn statistics(&self, waiting: usize) -> SandboxStatistics {
        let mut commands = SandboxStatistics::default().commands;
        let counted = NAMES.iter().zip(&self.ended);
        for (place, (name, counter)) in commands.iter_mut().zip(counted) {
            *place = (*name, counter.load(Ordering::Relaxed));
        }
        SandboxStatistics {
            commands,
            run_time: Duration::from_micros(self.run_micros.load(Ordering::Relaxed)),
            wait_time: Duration::from_micros(self.wait_micros.load(Ordering::Relaxed)),
            running: *self.running.borrow(),
            waiting,
            ..SandboxStatistics::default()
        }
    }
}

impl Drop for RunningCommand<'_> {
    fn drop(&mut self) {
        self.0
            .running
            .send_modify(|count| *count = count.saturating_sub(1));
    }
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_counted_under_its_name() {
        let counts = CommandCounts::default();
        let lost = Error::WorkerLost { why: "gone".into() };
        let none = Error::NoWorker {
            why: "none".into(),
            retry_after: Duration::from_secs(1),
        };
        counts.add_end(&Err(lost));
        counts.add_end(&Err(none));
        let running = counts.begin();
        let statistics = counts.statistics(3);
        assert_eq!(statistics.running, 1);
        assert_eq!(statistics.waiting, 3);
        drop(running);
        assert_eq!(*counts.running().borrow(), 0);
        let counted = statistics.commands.iter().filter(|(_, count)| *count > 0);
        let counted: Vec<_> = counted.copied().collect();
        assert_eq!(counted, [("refused", 1), ("error", 1)]);
    }
}
