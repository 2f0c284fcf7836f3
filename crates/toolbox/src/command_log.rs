//! Which commands a call ran in its sandbox, and whether no worker took one of them, for whoever
//! observes the call; each command with a span of its own in the trace of the call. Must not know
//! what is done with it.
//!
//! The calls of one turn share a workspace and run at the same time, so the list belongs to the
//! task that polls a call, not to the workspace.

use std::cell::RefCell;
use std::time::{Duration, Instant, SystemTime};

use prowess_sandbox::{CommandOutcome, Error as SandboxError, Execution, ExecutionReport};

use crate::error::ToolboxError;

/// Commands in the list of one call; further ones are left out.
const MAX_COMMANDS: usize = 64;

tokio::task_local! {
    static CALL: CallLog;
}

/// What is known of the call that this task polls.
struct CallLog {
    /// A span of the trace that the call is part of.
    traceparent: Option<String>,
    commands: RefCell<Vec<CommandRun>>,
    missing_worker: RefCell<Option<MissingWorker>>,
}

/// What was observed of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallCommands {
    /// The commands that it ran.
    pub runs: Vec<CommandRun>,
    /// Set if no worker took one of them in time.
    pub missing_worker: Option<MissingWorker>,
}

/// That no worker took a command in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingWorker {
    /// What was found instead.
    pub why: String,
    /// When a retry may succeed.
    pub retry_after: Duration,
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
    /// The id of its span, if the call is part of a trace.
    pub span: Option<String>,
    /// The run that it belongs to.
    pub run: Option<String>,
    /// The worker that ran it; `None` if this process did.
    pub worker: Option<String>,
}

/// Waits for a call, and tells which commands it ran. With the `traceparent` of a span, they
/// are spans of the same trace.
pub async fn observe_commands<F: Future>(
    traceparent: Option<&str>,
    call: F,
) -> (F::Output, CallCommands) {
    let observed = async {
        let output = call.await;
        let commands = CALL.with(|call| CallCommands {
            runs: call.commands.take(),
            missing_worker: call.missing_worker.take(),
        });
        (output, commands)
    };
    let log = CallLog {
        traceparent: traceparent.map(str::to_owned),
        commands: RefCell::default(),
        missing_worker: RefCell::default(),
    };
    CALL.scope(log, observed).await
}

/// Notes whether no worker took a command in time.
pub(crate) fn note_missing_worker(ran: &Result<ExecutionReport, ToolboxError>) {
    if let Err(ToolboxError::Sandbox(SandboxError::NoWorker { why, retry_after })) = ran {
        let missing = MissingWorker {
            why: why.clone(),
            retry_after: *retry_after,
        };
        // Nobody observes most calls.
        let _ = CALL.try_with(|call| *call.missing_worker.borrow_mut() = Some(missing));
    }
}

/// A command that has been requested; it is listed when this is dropped.
pub(crate) struct RequestedCommand {
    requested: Instant,
    started_at: SystemTime,
    ran: Option<(CommandOutcome, Duration)>,
    span: Option<String>,
    run: Option<String>,
    worker: Option<String>,
}

impl RequestedCommand {
    /// Gives the command a span of its own, also if it is the same command again.
    pub(crate) fn begin(execution: &mut Execution) -> Self {
        let span = CALL.try_with(|call| new_span(call.traceparent.as_deref()?));
        let (span, traceparent) = span.ok().flatten().unzip();
        execution.traceparent = traceparent;
        RequestedCommand {
            requested: Instant::now(),
            started_at: SystemTime::now(),
            ran: None,
            span,
            run: execution.run.clone(),
            worker: None,
        }
    }

    /// It has ended, or could not be run.
    pub(crate) fn end(mut self, report: &Result<ExecutionReport, ToolboxError>) {
        if let Ok(report) = report {
            self.ran = Some((report.outcome, report.elapsed));
            self.worker.clone_from(&report.worker);
        }
    }
}

/// The id of a new span in the trace of another, and its own `traceparent`. None if that of the
/// other is malformed.
fn new_span(parent: &str) -> Option<(String, String)> {
    let [version, trace, _, flags] = parent.split('-').collect::<Vec<_>>()[..] else {
        return None;
    };
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).ok()?;
    // An id of zeros is invalid.
    let span = format!("{:016x}", u64::from_le_bytes(bytes).max(1));
    let traceparent = format!("{version}-{trace}-{span}-{flags}");
    Some((span, traceparent))
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
            span: self.span.take(),
            run: self.run.take(),
            worker: self.worker.take(),
        };
        // Nobody observes most calls.
        let _ = CALL.try_with(|call| {
            let mut commands = call.commands.borrow_mut();
            if commands.len() < MAX_COMMANDS {
                commands.push(command);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[tokio::test]
    async fn each_command_has_a_span_of_its_own_in_the_trace_of_its_call() {
        let twice = async {
            let mut execution = Execution::default();
            drop(RequestedCommand::begin(&mut execution));
            let first = execution.traceparent.clone();
            drop(RequestedCommand::begin(&mut execution));
            [first, execution.traceparent]
        };
        let (sent, commands) = observe_commands(Some(PARENT), twice).await;
        let trace = PARENT.split("-b7ad").next().unwrap();
        let commands = commands.runs;
        for (sent, command) in sent.into_iter().zip(&commands) {
            let span = command.span.clone().unwrap();
            assert_eq!(sent.unwrap(), format!("{trace}-{span}-01"));
        }
        assert_ne!(commands[0].span, commands[1].span);
        for none in [None, Some("not-a-trace")] {
            let mut execution = Execution::default();
            let call = async { drop(RequestedCommand::begin(&mut execution)) };
            let ((), commands) = observe_commands(none, call).await;
            let span = &commands.runs[0].span;
            assert_eq!((span, execution.traceparent), (&None, None));
        }
    }

    #[tokio::test]
    async fn concurrent_calls_list_their_own_commands() {
        let begin = || drop(RequestedCommand::begin(&mut Execution::default()));
        let call = |commands: usize| {
            observe_commands(None, async move {
                for _ in 0..commands {
                    tokio::task::yield_now().await;
                    begin();
                }
            })
        };
        let ((_, one), (_, three), (_, many)) =
            tokio::join!(call(1), call(3), call(MAX_COMMANDS + 5));
        assert_eq!((one.runs.len(), three.runs.len()), (1, 3));
        assert_eq!(many.runs.len(), MAX_COMMANDS);
        assert!(one.runs.iter().all(|command| command.outcome.is_none()));
        // Outside of a call nothing is listed, and nothing fails.
        begin();
    }

    #[tokio::test]
    async fn a_call_reports_that_no_worker_took_its_command() {
        let missing = MissingWorker {
            why: "none is connected".to_owned(),
            retry_after: Duration::from_secs(2),
        };
        let no_worker = || SandboxError::NoWorker {
            why: missing.why.clone(),
            retry_after: missing.retry_after,
        };
        for (error, expected) in [
            (no_worker(), Some(&missing)),
            (SandboxError::StoreUnreachable, None),
        ] {
            let call = async { note_missing_worker(&Err(error.into())) };
            let ((), commands) = observe_commands(None, call).await;
            assert_eq!(commands.missing_worker.as_ref(), expected);
        }
        // Outside of a call nobody is told.
        note_missing_worker(&Err(no_worker().into()));
    }
}
