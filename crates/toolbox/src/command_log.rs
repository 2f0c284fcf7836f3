//! Which commands a call ran in its sandbox, for whoever observes the call. Must not know what
//! is done with it.
//!
//! The calls of one turn share a workspace and run at the same time, so the list belongs to the
//! task that polls a call, not to the workspace.

use std::cell::RefCell;
use std::time::{Duration, Instant, SystemTime};

use prowess_sandbox::{CommandOutcome, ExecutionReport};

use crate::error::ToolboxError;

/// Commands in the list of one call; further ones are left out.
const MAX_COMMANDS: usize = 64;

tokio::task_local! {
    static COMMANDS: RefCell<Vec<CommandRun>>;
}

/// A command that a call ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRun {
    /// When it was requested.
    pub started_at: SystemTime,
    /// How long it took, with waiting.
    pub duration: Duration,
    /// How long it waited: for its turn, and for its sandbox.
    pub waited: Duration,
    /// How it ended; `None` if it was not run, or not to its end.
    pub outcome: Option<CommandOutcome>,
}

/// Waits for a call, and lists the commands that it ran.
pub async fn observe_commands<F: Future>(call: F) -> (F::Output, Vec<CommandRun>) {
    let observed = async {
        let output = call.await;
        (output, COMMANDS.with(RefCell::take))
    };
    COMMANDS.scope(RefCell::default(), observed).await
}

/// A command that has been requested; it is listed when this is dropped.
pub(crate) struct RequestedCommand {
    requested: Instant,
    started_at: SystemTime,
    ran: Option<(CommandOutcome, Duration)>,
}

impl RequestedCommand {
    pub(crate) fn begin() -> Self {
        RequestedCommand {
            requested: Instant::now(),
            started_at: SystemTime::now(),
            ran: None,
        }
    }

    /// It has ended, or could not be run.
    pub(crate) fn end(mut self, report: &Result<ExecutionReport, ToolboxError>) {
        let report = report.as_ref().ok();
        self.ran = report.map(|report| (report.outcome, report.elapsed));
    }
}

impl Drop for RequestedCommand {
    fn drop(&mut self) {
        let duration = self.requested.elapsed();
        let command = CommandRun {
            started_at: self.started_at,
            duration,
            waited: match self.ran {
                Some((_, elapsed)) => duration.saturating_sub(elapsed),
                None => duration,
            },
            outcome: self.ran.map(|(outcome, _)| outcome),
        };
        // Nobody observes most calls.
        let _ = COMMANDS.try_with(|commands| {
            let mut commands = commands.borrow_mut();
            if commands.len() < MAX_COMMANDS {
                commands.push(command);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn concurrent_calls_list_their_own_commands() {
        let call = |commands: usize| {
            observe_commands(async move {
                for _ in 0..commands {
                    tokio::task::yield_now().await;
                    drop(RequestedCommand::begin());
                }
            })
        };
        let ((_, one), (_, three), (_, many)) =
            tokio::join!(call(1), call(3), call(MAX_COMMANDS + 5));
        assert_eq!((one.len(), three.len()), (1, 3));
        assert_eq!(many.len(), MAX_COMMANDS);
        assert!(one.iter().all(|command| command.outcome.is_none()));
        // Outside of a call nothing is listed, and nothing fails.
        drop(RequestedCommand::begin());
    }
}
