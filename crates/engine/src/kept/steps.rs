//! The steps of a kept run: those that are in the journal are read again. `store_steps` has the
//! rest of [`KeptSteps`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use prowess_sandbox::{ContainerSetup, RunOwnership};
use prowess_store::{ContainerRecord, Error as StoreError, JournalStep, StepKind, UsageRow};
use prowess_toolbox::{ErrorCode, Toolbox};
use serde::de::DeserializeOwned;

use super::container_state::ContainerState;
use super::fail_point::fail_point;
use super::journal::RunJournal;
use super::log_event::LogSummary;
use super::output::KeptOutput;
use super::step_record::{ResultsRecord, TurnRecord, parse_step};
use crate::model_text;
use crate::settings::RerunPolicy;
use crate::tool_call::ToolCall;
use crate::turns::answer_writer::AnswerWriter;
use crate::turns::dispatch::FinishedCall;

/// Whether what is fixed before the first turn is in the journal.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RunStart {
    /// It is stored with the first step of the run, which began then.
    Due(Instant),
    Stored,
}

/// Calls to be made.
#[derive(Debug, Default)]
pub(crate) struct NextCalls {
    pub(crate) calls: Vec<ToolCall>,
    /// Ids of those whose commands are attached to, and not begun.
    pub(crate) attached: Vec<String>,
}

impl From<Vec<ToolCall>> for NextCalls {
    fn from(calls: Vec<ToolCall>) -> Self {
        NextCalls {
            calls,
            attached: Vec::new(),
        }
    }
}

/// The steps of a kept run.
pub(crate) struct KeptSteps {
    pub(super) journal: Arc<RunJournal>,
    pub(super) output: Arc<KeptOutput>,
    /// Steps that are finished and have not been read again yet.
    recorded: VecDeque<JournalStep>,
    pub(super) start: RunStart,
    log: LogSummary,
    /// Who pays for the turns; tokens and target are added.
    pub(super) usage: UsageRow,
    rerun: RerunPolicy,
    /// Whether a stored turn counts the request.
    pub(super) request_is_counted: bool,
    /// Whether the next calls may have been made by a server that died.
    pub(super) calls_may_have_run: bool,
    /// The step that the ids of the next commands have, if it is not the next one.
    pub(super) calls_step: Option<i64>,
    /// Results of calls that are not repeated, with their places.
    not_repeated: Vec<(usize, FinishedCall)>,
    pub(super) container: Option<ContainerState>,
    /// What the container was set up with, as of the step that is stored next.
    pub(super) setup: Option<ContainerSetup>,
    /// The record of the container, as this server has stored it.
    pub(super) container_record: Option<ContainerRecord>,
}

impl KeptSteps {
    pub(crate) fn new(
        journal: Arc<RunJournal>,
        output: Arc<KeptOutput>,
        recorded: VecDeque<JournalStep>,
        start: RunStart,
        log: LogSummary,
        usage: UsageRow,
        rerun: RerunPolicy,
    ) -> Self {
        // With nothing but a start, the server before may have made the calls it began with.
        let has_only_start = matches!(start, RunStart::Stored) && recorded.is_empty();
        KeptSteps {
            journal,
            output,
            recorded,
            start,
            log,
            usage,
            rerun,
            request_is_counted: false,
            calls_may_have_run: has_only_start,
            calls_step: None,
            not_repeated: Vec::new(),
            container: None,
            setup: None,
            container_record: None,
        }
    }

    /// Whether finished steps remain to be read again.
    pub(crate) fn has_recorded(&self) -> bool {
        !self.recorded.is_empty()
    }

    /// Starts to log events, if there is nothing to be read again.
    pub(crate) fn start(&mut self, writer: &mut AnswerWriter) {
        if self.recorded.is_empty() {
            self.go_live(writer);
        }
    }

    /// Sets the state of the container that the run continues in.
    pub(crate) fn set_container(&mut self, container: ContainerState) {
        self.container = Some(container);
    }

    /// The next turn, if it is in the journal.
    pub(crate) fn next_turn(&mut self) -> Result<Option<TurnRecord>, StoreError> {
        self.next_recorded(StepKind::Turn)
    }

    /// The results of the next calls, if they are in the journal.
    pub(crate) fn next_results(&mut self) -> Result<Option<Vec<FinishedCall>>, StoreError> {
        let record = self.next_recorded::<ResultsRecord>(StepKind::ToolResult)?;
        Ok(record.map(|record| record.calls))
    }

    fn next_recorded<T: DeserializeOwned>(
        &mut self,
        kind: StepKind,
    ) -> Result<Option<T>, StoreError> {
        let Some(step) = self.recorded.pop_front() else {
            return Ok(None);
        };
        if step.kind != kind {
            return Err(StoreError::MalformedRow {
                table: "journal_steps",
                reason: format!("step {} is of another kind than expected", step.seq),
            });
        }
        self.calls_may_have_run = kind == StepKind::Turn;
        parse_step(&step).map(Some)
    }

    /// A step from the journal has been read again with all its events.
    pub(crate) fn finish_replayed_step(&mut self, writer: &mut AnswerWriter) {
        drop(self.output.take_held());
        if self.recorded.is_empty() {
            self.go_live(writer);
        }
    }

    fn go_live(&mut self, writer: &mut AnswerWriter) {
        self.output.set_replays(false);
        writer.continue_log(&self.output, &self.log);
    }

    /// The step that the ids of the next commands have, the same when they are made again, and
    /// the epoch of the lease.
    pub(crate) fn next_step(&self) -> impl Future<Output = (i64, i64)> + Send + use<> {
        let (journal, calls_step) = (Arc::clone(&self.journal), self.calls_step);
        async move {
            let lease = journal.lease().await;
            (calls_step.unwrap_or(lease.next_step), lease.epoch)
        }
    }

    /// Whether this server still has the run.
    pub(crate) fn ownership(&self) -> RunOwnership {
        self.journal.ownership().clone()
    }

    /// The calls to be made now. If they may have been made before by a server that died, and
    /// could reach the network then, they are not repeated unless the operator allows it: where
    /// commands go on without their server, they only get the results that still exist.
    pub(crate) async fn take_repeatable(
        &mut self,
        calls: Vec<ToolCall>,
        toolbox: &Toolbox,
    ) -> NextCalls {
        fail_point("before-command");
        if !std::mem::take(&mut self.calls_may_have_run) {
            return calls.into();
        }
        let repeats = match self.rerun {
            RerunPolicy::Always => true,
            RerunPolicy::Never => false,
            RerunPolicy::Pure => match toolbox.workspace() {
                Some(workspace) => !workspace.allows_network().await,
                None => true,
            },
        };
        if repeats {
            return calls.into();
        }
        let workspace = toolbox.workspace();
        // Without a container, no command can be found.
        let keeps_commands = workspace.is_some_and(|workspace| {
            workspace.sandbox().keeps_commands() && workspace.container_id().is_some()
        });
        let mut next = NextCalls::default();
        for (place, call) in calls.into_iter().enumerate() {
            if toolbox.is_read_only(&call.name) {
                next.calls.push(call);
            } else if keeps_commands {
                next.attached.push(call.id.clone());
                next.calls.push(call);
            } else {
                let text = model_text::INTERRUPTED;
                let done = FinishedCall::not_run(call, text, ErrorCode::Unavailable);
                self.not_repeated.push((place, done));
            }
        }
        next
    }

    /// Adds the results of calls that were not repeated.
    pub(crate) fn add_not_repeated(&mut self, done: &mut Vec<FinishedCall>) {
        for (place, call) in self.not_repeated.drain(..) {
            done.insert(place.min(done.len()), call);
        }
    }

    /// Holds the results back until they are stored.
    pub(crate) fn hold_results(&self) {
        fail_point("command-done");
        self.output.hold();
    }

    /// The record of the container, if this server has stored it with a step.
    pub(crate) fn container_record(&self) -> Option<&ContainerRecord> {
        self.container_record.as_ref()
    }
}
