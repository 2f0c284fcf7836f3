//! Runs a kept run: from its beginning, or from where a server that died left it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use prowess_sandbox::{ContainerSetup, Error as SandboxError};
use prowess_store::{JournalStep, RunLease, RunState, StepKind, UsageRow};
use prowess_toolbox::ToolboxError;
use prowess_wire::neutral::{ApiError, ErrorKind, Response};

use super::container_state::ContainerState;
use super::journal::RunJournal;
use super::journal_stop::JournalStop;
use super::log_event::LogSummary;
use super::output::{EventObserver, KeptOutput};
use super::recorded_start::{RecordedStart, calls_step, find_start, last_container};
use super::recreate::RecordedContainer;
use super::steps::{KeptSteps, RunStart};
use crate::containers::run_container::RunContainer;
use crate::engine::{Engine, RunRequest};
use crate::error::RunError;
use crate::ids::container_id;
use crate::intake::plan::Purpose;
use crate::intake::prepare::prepare_run;
use crate::intake::prepared::PreparedRun;
use crate::intake::skill_request::SkillRequest;
use crate::turns::answer_writer::EventSink;
use crate::turns::run_loop::{RunLoop, RunStop};

#[cfg(test)]
mod recording_sandboxes;
#[cfg(test)]
mod tests;

/// A kept run that this server owns, before it goes on.
#[derive(Debug)]
pub struct KeptRun {
    journal: Arc<RunJournal>,
    log: LogSummary,
    steps: Vec<JournalStep>,
}

/// How a kept run ended on this server. The caller ends it in the journal.
#[derive(Debug)]
pub enum KeptEnd {
    /// With a response.
    Completed {
        /// The response.
        response: Box<Response>,
        /// Completed or incomplete.
        state: RunState,
    },
    /// With an error.
    Failed(Box<ApiError>),
    /// It is to be cancelled.
    Cancelled,
    /// It goes on elsewhere, or later; nothing must be written.
    GivenUp(JournalStop),
}

impl Engine {
    /// The journal of a run that this server has just begun: nothing of it is stored yet.
    #[must_use]
    pub fn begin_kept(&self, lease: RunLease, claimed: Instant) -> KeptRun {
        KeptRun {
            journal: RunJournal::begin(self.store().clone(), lease, claimed),
            log: LogSummary::default(),
            steps: Vec::new(),
        }
    }

    /// Opens the journal of a run that this server claimed at `claimed`.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn open_kept(
        &self,
        lease: RunLease,
        claimed: Instant,
    ) -> BoxFuture<'_, Result<KeptRun, RunError>> {
        Box::pin(async move {
            let steps = self.store().journal_steps(&lease.run).await?;
            let (journal, log) = RunJournal::open(self.store().clone(), lease, claimed).await?;
            Ok(KeptRun {
                journal,
                log,
                steps,
            })
        })
    }
}

impl KeptRun {
    /// Its journal.
    #[must_use]
    pub fn journal(&self) -> &Arc<RunJournal> {
        &self.journal
    }

    /// Whether its log has events of steps that are not part of the response, because they
    /// were, or are now, made again.
    #[must_use]
    pub fn repeats_steps(&self) -> bool {
        self.log.has_abandoned_step || self.log.has_unfinished_step
    }

    /// Runs it to its end, or until this server does not own it any more. `usage` says who
    /// pays for the turns; `observer` is shown the events that are not part of the response.
    pub fn run(
        self,
        engine: Engine,
        request: RunRequest,
        usage: UsageRow,
        observer: EventObserver,
    ) -> BoxFuture<'static, KeptEnd> {
        Box::pin(async move {
            let journal = Arc::clone(&self.journal);
            let writes_record = Arc::new(AtomicBool::new(false));
            let running = self.run_steps(engine, request, usage, observer, &writes_record);
            // Each server that resumed the run would repeat a panic, and pay for a turn again.
            let running = AssertUnwindSafe(running).catch_unwind();
            // The journal is flushed and the lease renewed while the run waits for anything.
            let maintaining = journal.maintain();
            tokio::pin!(running, maintaining);
            tokio::select! {
                end = &mut running => {
                    // What is being written is written before the caller ends the run.
                    journal.end_maintenance();
                    let end = end.unwrap_or_else(|_| failed_internally());
                    end_unless_stopped(end, maintaining.await)
                }
                Some(stop) = &mut maintaining => {
                    // Set before the run is dropped, which writes its record.
                    let is_cancelled = matches!(stop, JournalStop::CancelRequested);
                    writes_record.store(is_cancelled, Ordering::Relaxed);
                    KeptEnd::from(stop)
                }
            }
        })
    }

    async fn run_steps(
        self,
        engine: Engine,
        request: RunRequest,
        usage: UsageRow,
        observer: EventObserver,
        writes_record: &Arc<AtomicBool>,
    ) -> KeptEnd {
        let output = KeptOutput::new(Arc::clone(&self.journal), request.client, observer);
        let output = Arc::new(output);
        let prepared = self.prepare(&engine, request, usage, &output, writes_record);
        let mut run_loop = match prepared.await {
            Ok(run_loop) => run_loop,
            Err(stop) => return stop.into(),
        };
        let end = match run_loop.run_turns().await {
            Ok(end) => {
                let state = end.state();
                run_loop.finish(end).await;
                match output.take_response() {
                    Ok(response) => KeptEnd::Completed {
                        response: Box::new(response),
                        state,
                    },
                    Err(error) => KeptEnd::Failed(Box::new(error)),
                }
            }
            Err(RunStop::Failed(error)) if !error.is_store_outage() => {
                let api_error = error.to_api_error();
                run_loop.fail(error).await;
                KeptEnd::Failed(Box::new(api_error))
            }
            Err(stop) => stop.into(),
        };
        let is_over = !matches!(end, KeptEnd::GivenUp(_));
        writes_record.store(is_over, Ordering::Relaxed);
        end
    }

    /// Prepares the run; a resumed one with the skills and the container that it had.
    async fn prepare(
        self,
        engine: &Engine,
        request: RunRequest,
        usage: UsageRow,
        output: &Arc<KeptOutput>,
        writes_record: &Arc<AtomicBool>,
    ) -> Result<Box<RunLoop>, RunStop> {
        let KeptRun {
            journal,
            log,
            steps,
        } = self;
        let start = find_start(&steps).map_err(RunError::from)?;
        let is_resumed = start.is_some();
        let mut state = None;
        let (continues, earlier) = match start {
            None => (None, Duration::ZERO),
            Some(RecordedStart { record, earlier }) => {
                let results = last_container(&steps).map_err(RunError::from)?;
                let (id, setup) = results.unwrap_or((record.container, record.setup));
                let mut is_recreated = false;
                if let Some(id) = &id {
                    let lease = journal.lease().await;
                    let recorded = RecordedContainer {
                        engine,
                        request: &request,
                        pins: &record.pins,
                        setup: setup.unwrap_or_else(|| ContainerSetup {
                            policy: engine.settings().policy.clone(),
                            uploads: Vec::new(),
                        }),
                    };
                    let restored;
                    let restoring = recorded.restore(&lease, id).await;
                    (restored, is_recreated) = restoring.map_err(resume_later_if_busy)?;
                    state = Some(restored);
                }
                let container = RunContainer {
                    id,
                    upstream_id: record.upstream_container,
                    pins: record.pins,
                    offer: record.offer,
                    native_skills: record.native_skills,
                    is_recreated,
                };
                (Some(container), earlier)
            }
        };
        if !is_resumed {
            hold_requested(engine, &journal, &request).await?;
        }
        let prepared = Box::pin(prepare_run(engine, request, Purpose::KeptRun, continues)).await?;
        if !is_resumed {
            state = hold_existing(&journal, &prepared).await?;
        }
        let start = match is_resumed {
            true => RunStart::Stored,
            false => RunStart::Due(Instant::now()),
        };
        let sink = EventSink::Kept(Arc::clone(output));
        let rerun = engine.settings().rerun;
        let mut run_loop = RunLoop::new(prepared, journal.run().to_owned(), sink);
        tracing::debug!(run = journal.run(), is_resumed, "kept run");
        let calls_step = calls_step(&steps).map_err(RunError::from)?;
        let steps = steps
            .into_iter()
            .filter(|step| step.kind != StepKind::Start);
        let output = Arc::clone(output);
        let mut kept = KeptSteps::new(journal, output, steps.collect(), start, log, usage, rerun);
        kept.calls_step = calls_step;
        if let Some(state) = state {
            kept.set_container(state);
        }
        run_loop.keep(kept, earlier, Arc::clone(writes_record));
        Ok(run_loop)
    }
}

/// Holds the container that a new run names, before its uploads and skills are placed there:
/// others may not use it until the run ends, and one that is in use is an error of the request.
async fn hold_requested(
    engine: &Engine,
    journal: &RunJournal,
    request: &RunRequest,
) -> Result<(), RunError> {
    let requested = SkillRequest::from_request(request.client, &request.request)?;
    let Some(requested) = requested.container else {
        return Ok(());
    };
    let (store, id) = (engine.store(), container_id(&requested));
    let record = store.container(&request.tenant, &id).await?;
    if !record.is_some_and(|record| record.is_ours()) {
        // Preparing the run finds out whether it is an upstream's.
        return Ok(());
    }
    let lease = journal.lease().await;
    ContainerState::wait_until_free(store, engine.foreground_containers(), &lease, &id).await
}

/// The state of the container that a new run continues in, and holds.
async fn hold_existing(
    journal: &RunJournal,
    prepared: &PreparedRun,
) -> Result<Option<ContainerState>, RunError> {
    let workspace = prepared.tools.toolbox.workspace();
    let (Some(id), Some(workspace)) = (&prepared.container.id, workspace) else {
        return Ok(None);
    };
    let (store, lease) = (prepared.context.engine.store(), journal.lease().await);
    let opened = ContainerState::open(store, workspace.sandbox(), &lease, id);
    Ok(Some(opened.await?))
}

/// How a run ended whose journal stopped at the same time: what the store has refused or not
/// answered is missing from the log, so whoever resumes the run ends it.
fn end_unless_stopped(end: KeptEnd, stop: Option<JournalStop>) -> KeptEnd {
    match stop {
        Some(stop @ (JournalStop::Lost | JournalStop::LeaseOver | JournalStop::Store(_))) => {
            KeptEnd::GivenUp(stop)
        }
        _ => end,
    }
}

fn failed_internally() -> KeptEnd {
    let message = "internal error; the server's log has the details";
    KeptEnd::Failed(Box::new(ApiError {
        code: Some("run-failed".to_owned()),
        ..ApiError::new(ErrorKind::Api, message)
    }))
}

/// A resumed run that finds its container in use has not failed: it has the container, and a
/// server that lost the run has not released it yet.
fn resume_later_if_busy(error: RunError) -> RunStop {
    match error {
        RunError::Toolbox(ToolboxError::Sandbox(SandboxError::ContainerBusy { .. })) => {
            JournalStop::ContainerInUse.into()
        }
        error => error.into(),
    }
}

impl From<RunStop> for KeptEnd {
    fn from(stop: RunStop) -> Self {
        match stop {
            RunStop::Failed(error) => error.into(),
            RunStop::Journal(stop) => stop.into(),
        }
    }
}

/// A run that cannot reach the store has not failed: it is resumed.
impl From<RunError> for KeptEnd {
    fn from(error: RunError) -> Self {
        match error.is_store_outage() {
            true => KeptEnd::GivenUp(JournalStop::Outage(Box::new(error))),
            false => KeptEnd::Failed(Box::new(error.to_api_error())),
        }
    }
}

impl From<JournalStop> for KeptEnd {
    fn from(stop: JournalStop) -> Self {
        match stop {
            JournalStop::CancelRequested => KeptEnd::Cancelled,
            JournalStop::LogFull | JournalStop::ContainerChanged => {
                KeptEnd::Failed(Box::new(ApiError {
                    code: Some("run-failed".to_owned()),
                    ..ApiError::new(ErrorKind::Conflict, stop.to_string())
                }))
            }
            stop @ (JournalStop::Lost
            | JournalStop::LeaseOver
            | JournalStop::ContainerInUse
            | JournalStop::Store(_)
            | JournalStop::Outage(_)) => KeptEnd::GivenUp(stop),
        }
    }
}
