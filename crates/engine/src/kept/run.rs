//! Runs a kept run: from its beginning, or from where a server that died left it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use prowess_sandbox::ContainerSetup;
use prowess_store::{JournalStep, RunLease, RunState, StepChanges, StepKind, Timestamp, UsageRow};
use prowess_wire::neutral::{ApiError, Response};

use super::container_state::ContainerState;
use super::journal::{JournalStop, RunJournal};
use super::log_event::LogSummary;
use super::output::{EventObserver, KeptOutput};
use super::recreate::RecordedContainer;
use super::step_record::{ResultsRecord, StartRecord, parse_step};
use super::steps::{KeptSteps, append_record};
use crate::containers::run_container::RunContainer;
use crate::engine::{Engine, RunRequest};
use crate::error::RunError;
use crate::intake::plan::Purpose;
use crate::intake::prepare::prepare_run;
use crate::intake::prepared::PreparedRun;
use crate::turns::answer_writer::EventSink;
use crate::turns::run_loop::{RunLoop, RunStop};

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
    /// Opens the journal of a run that this server began or claimed at `claimed`.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn open_kept(&self, lease: RunLease, claimed: Instant) -> Result<KeptRun, RunError> {
        let steps = self.store().journal_steps(&lease.run).await?;
        let (journal, log) = RunJournal::open(self.store().clone(), lease, claimed).await?;
        Ok(KeptRun {
            journal,
            log,
            steps,
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
    pub async fn run(
        self,
        engine: Engine,
        request: RunRequest,
        usage: UsageRow,
        observer: EventObserver,
    ) -> KeptEnd {
        let journal = Arc::clone(&self.journal);
        let writes_record = Arc::new(AtomicBool::new(false));
        let running = self.run_steps(engine, request, usage, observer, &writes_record);
        // The journal is flushed and the lease renewed while the run waits for anything.
        tokio::select! {
            end = running => end,
            stop = journal.maintain() => {
                // Set before the run is dropped, which writes its record.
                let is_cancelled = matches!(stop, JournalStop::CancelRequested);
                writes_record.store(is_cancelled, Ordering::Relaxed);
                KeptEnd::from(stop)
            }
        }
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
            Err(RunStop::Failed(error)) => {
                return KeptEnd::Failed(Box::new(error.to_api_error()));
            }
            Err(RunStop::Journal(stop)) => return stop.into(),
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
            Err(RunStop::Failed(error)) => {
                let api_error = error.to_api_error();
                run_loop.fail(error).await;
                KeptEnd::Failed(Box::new(api_error))
            }
            Err(RunStop::Journal(stop)) => stop.into(),
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
    ) -> Result<RunLoop, RunStop> {
        let KeptRun {
            journal,
            log,
            steps,
        } = self;
        let is_resumed = !steps.is_empty();
        let earlier = earlier_time(&steps);
        let start = find_start(&steps).map_err(RunError::from)?;
        let mut state = None;
        let continues = match start {
            None => None,
            Some(start) => {
                let results = last_container(&steps).map_err(RunError::from)?;
                let (id, setup) = results.unwrap_or((start.container, start.setup));
                let mut is_recreated = false;
                if let Some(id) = &id {
                    let lease = journal.lease().await;
                    let recorded = RecordedContainer {
                        engine,
                        request: &request,
                        pins: &start.pins,
                        setup: setup.unwrap_or_else(|| ContainerSetup {
                            policy: engine.settings().policy.clone(),
                            uploads: Vec::new(),
                        }),
                    };
                    let restored;
                    (restored, is_recreated) = recorded.restore(&lease, id).await?;
                    state = Some(restored);
                }
                Some(RunContainer {
                    id,
                    upstream_id: start.upstream_container,
                    pins: start.pins,
                    offer: start.offer,
                    native_skills: start.native_skills,
                    is_recreated,
                })
            }
        };
        let prepared = prepare_run(engine, request, Purpose::KeptRun, continues).await?;
        if !is_resumed {
            state = store_start(&journal, &prepared, output).await?;
        }
        let sink = EventSink::Kept(Arc::clone(output));
        let rerun = engine.settings().rerun;
        let mut run_loop = RunLoop::new(prepared, journal.run().to_owned(), sink);
        tracing::debug!(run = journal.run(), is_resumed, "kept run");
        let steps = steps
            .into_iter()
            .filter(|step| step.kind != StepKind::Start);
        let output = Arc::clone(output);
        let mut kept = KeptSteps::new(journal, output, steps.collect(), log, usage, rerun);
        if let Some(state) = state {
            kept.set_container(state);
        }
        run_loop.keep(kept, earlier, Arc::clone(writes_record));
        Ok(run_loop)
    }
}

impl From<JournalStop> for KeptEnd {
    fn from(stop: JournalStop) -> Self {
        match stop {
            JournalStop::CancelRequested => KeptEnd::Cancelled,
            JournalStop::LogFull | JournalStop::ContainerChanged => {
                KeptEnd::Failed(Box::new(ApiError {
                    code: Some("run-failed".to_owned()),
                    ..ApiError::new(prowess_wire::neutral::ErrorKind::Conflict, stop.to_string())
                }))
            }
            stop @ (JournalStop::Lost | JournalStop::Store(_)) => KeptEnd::GivenUp(stop),
        }
    }
}

/// Stores what is fixed before the first turn. The files that the container has now are the
/// first that a lost command is undone to.
async fn store_start(
    journal: &RunJournal,
    prepared: &PreparedRun,
    output: &KeptOutput,
) -> Result<Option<ContainerState>, RunStop> {
    let store = prepared.context.engine.store();
    let mut changes = StepChanges::default();
    let (mut state, mut setup) = (None, None);
    let (id, workspace) = (prepared.container_id(), prepared.tools.toolbox.workspace());
    if let (Some(id), Some(workspace)) = (&id, workspace) {
        if prepared.container.id.is_none() {
            prepared.save_container(id).await?;
        }
        let (sandbox, lease) = (workspace.sandbox(), journal.lease().await);
        let mut opened = ContainerState::open(store, sandbox, &lease, id).await?;
        (changes.contents, changes.container) = opened.stage_changes(store, sandbox).await?;
        setup = Some(opened.setup(sandbox).await?);
        state = Some(opened);
    }
    let record = StartRecord {
        container: id,
        upstream_container: prepared.container.upstream_id.clone(),
        pins: prepared.pins(),
        offer: prepared.offer().cloned(),
        native_skills: prepared.container.native_skills.clone(),
        setup,
    };
    append_record(journal, StepKind::Start, &record, changes, output).await?;
    if let Some(state) = &mut state {
        state.committed();
    }
    Ok(state)
}

fn find_start(steps: &[JournalStep]) -> Result<Option<StartRecord>, prowess_store::Error> {
    let start = steps.iter().find(|step| step.kind == StepKind::Start);
    start.map(parse_step).transpose()
}

/// How long the run had been going on when this server got it.
fn earlier_time(steps: &[JournalStep]) -> Duration {
    let start = steps.iter().find(|step| step.kind == StepKind::Start);
    let started = start.map_or(Timestamp::now(), |step| step.created_at);
    let micros = Timestamp::now().as_micros() - started.as_micros();
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

/// The container as of the last finished calls, and what it was set up with.
type LastContainer = (Option<String>, Option<ContainerSetup>);

fn last_container(steps: &[JournalStep]) -> Result<Option<LastContainer>, prowess_store::Error> {
    let mut results = steps.iter().rev();
    let last = results.find(|step| step.kind == StepKind::ToolResult);
    let record = last.map(parse_step::<ResultsRecord>).transpose()?;
    let record = record.filter(|record| record.container.is_some());
    Ok(record.map(|record| (record.container, record.setup)))
}
