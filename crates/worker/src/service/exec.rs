//! The life of a command: prepared, run, delivered, and announced as accepted if that takes longer
//! than a moment.

use super::active_command::ActiveCommand;
use super::failure::CommandFailure;
use super::kept_result::KeptResult;
use super::observer::ObservedCommand;
use super::state::{TaskGuard, WorkerState};
use crate::protocol::{CommandTimings, ExecRequest, WorkerReply};
use futures_util::future::join_all;
use prowess_sandbox::fail_point;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// Attempts to run a command whose container's copy is evicted meanwhile.
const MAX_ATTEMPTS: usize = 2;

/// A command that ends within this time is not announced as accepted: its result says so, and each
/// message costs the gateway, the bus and this worker as much as a part of a short command.
const ACCEPT_DELAY: Duration = Duration::from_millis(100);

impl WorkerState {
    /// Runs a command until its result is delivered to all who wait for it.
    pub(super) async fn run_command(
        self: Arc<Self>,
        request: Box<ExecRequest>,
        command: Arc<ActiveCommand>,
        _task: TaskGuard,
    ) {
        let (began, started_at) = (Instant::now(), SystemTime::now());
        // Gateways that attach to it get answers of their own.
        let first = command.listeners().into_iter().next();
        let announcement = async {
            if let Some(listener) = first {
                let accepted = WorkerReply::Accepted { attached: false };
                // Who does not get it notices the silence.
                let _ = self.send(&listener, &accepted).await;
            }
        };
        let executed = self.with_beats(&command, self.execute(&request, &command));
        let outcome = tokio::select! {
            biased;
            reason = command.stopped() => Err(reason.error().into()),
            outcome = announce_if_slow(executed, announcement) => outcome,
        };
        self.observe(&request, started_at, began.elapsed(), &outcome);
        let id = request.command.as_str();
        match outcome {
            Ok(result) => {
                let result = Arc::new(result);
                let kept = (Arc::clone(&result), result.memory_bytes());
                self.commands().end(id, Some(kept), Instant::now());
                fail_point("worker-before-delivery");
                let listeners = command.listeners();
                // The newest one first: the others may be dead.
                let deliveries = listeners.iter().rev();
                join_all(deliveries.map(|listener| self.deliver(id, listener, &result))).await;
                fail_point("worker-after-delivery");
            }
            Err(failure) => {
                tracing::debug!(?failure, "a command has no result");
                self.commands().end(id, None, Instant::now());
                let reply = failure.into_reply(command.has_started());
                self.send_all(&command, &reply).await;
            }
        }
    }

    /// Tells of a command, if somebody wants to know and it is part of a trace.
    fn observe(
        &self,
        request: &ExecRequest,
        started_at: SystemTime,
        duration: Duration,
        outcome: &Result<KeptResult, CommandFailure>,
    ) {
        let observer = self.settings.observer.as_ref();
        let (Some(observer), Some(traceparent)) = (observer, &request.traceparent) else {
            return;
        };
        observer.command_ended(&ObservedCommand {
            traceparent,
            run: request.run.as_deref(),
            container: &request.container,
            started_at,
            duration,
            end: match outcome {
                Ok(result) => Ok((result.report.outcome, result.timings)),
                Err(failure) => Err(failure.code()),
            },
        });
    }

    /// Prepares, runs, and finds out what changed.
    async fn execute(
        &self,
        request: &ExecRequest,
        command: &ActiveCommand,
    ) -> Result<KeptResult, CommandFailure> {
        let began = Instant::now();
        let mut copy = self.copies.lock(&request.container).await;
        let mut attempts = 0;
        let (before, report, after, prepared) = loop {
            attempts += 1;
            let ran = async {
                let before = self.prepare(&mut copy, request, command).await?;
                fail_point("worker-before-command");
                let prepared = began.elapsed();
                // Until the changes are known, nobody knows what the files are.
                if let Some(copy) = copy.as_mut() {
                    copy.label = None;
                }
                let found = Arc::clone(&before.found);
                let (report, after) = self.run(request, command, found).await?;
                Ok::<_, CommandFailure>((before, report, after, prepared))
            };
            match ran.await {
                // The sandbox evicts what was not used for long.
                Err(failure) if failure.is_of_evicted_copy() && attempts < MAX_ATTEMPTS => {
                    self.remove_copy(&mut copy, &request.container).await?;
                }
                ran => break ran?,
            }
        };
        fail_point("worker-after-command");
        let ended = Instant::now();
        let (after, contents, took) = match after {
            Some(after) => (Arc::new(after.snapshot?), after.contents, after.took),
            None => (Arc::clone(&before.found), HashMap::new(), Duration::ZERO),
        };
        let ran = ended.duration_since(began).saturating_sub(prepared);
        let changes = self.changes(request, &before, &after, contents).await?;
        if let Some(copy) = copy.as_mut() {
            copy.label = Some(after.digest());
            copy.files = Some(after);
        }
        Ok(KeptResult {
            owner: request.owner.clone(),
            container: request.container.clone(),
            report,
            changes,
            timings: CommandTimings {
                prepare_ms: millis(prepared),
                run_ms: millis(ran.saturating_sub(took)),
                store_ms: millis(took.saturating_add(ended.elapsed())),
            },
        })
    }
}

/// Waits for work, and announces it meanwhile if it takes longer than [`ACCEPT_DELAY`].
async fn announce_if_slow<T>(
    work: impl Future<Output = T>,
    announcement: impl Future<Output = ()>,
) -> T {
    tokio::pin!(work);
    let later = async {
        tokio::time::sleep(ACCEPT_DELAY).await;
        announcement.await;
    };
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = later => {}
    }
    work.await
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test(start_paused = true)]
    async fn only_commands_that_take_longer_than_a_moment_are_announced() {
        for (millis, expected) in [(0, 0), (50, 0), (200, 1), (5_000, 1)] {
            let announcements = AtomicUsize::new(0);
            let work = async {
                tokio::time::sleep(Duration::from_millis(millis)).await;
                "result"
            };
            let announcement = async {
                announcements.fetch_add(1, Ordering::Relaxed);
            };
            assert_eq!(announce_if_slow(work, announcement).await, "result");
            let found = announcements.load(Ordering::Relaxed);
            assert_eq!(found, expected, "after {millis} ms");
        }
    }
}
