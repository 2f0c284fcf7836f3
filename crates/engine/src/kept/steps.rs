//! The steps of a kept run: those that are in the journal are read, and new ones are stored.

use std::collections::VecDeque;
use std::sync::Arc;

use prowess_sandbox::ContainerSetup;
use prowess_store::{
    Error as StoreError, JournalStep, NewStep, StagedFile, StepChanges, StepKind, UsageRow,
};
use prowess_toolbox::{ErrorCode, Toolbox};
use prowess_wire::neutral::Response;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::container_state::ContainerState;
use super::fail_point::fail_point;
use super::journal::{JournalStop, RunJournal};
use super::log_event::LogSummary;
use super::output::KeptOutput;
use super::step_record::{ResultsRecord, TurnRecord, parse_step};
use crate::error::RunError;
use crate::events::TurnStarted;
use crate::intake::prepared::PreparedRun;
use crate::model_text;
use crate::settings::RerunPolicy;
use crate::tool_call::ToolCall;
use crate::turns::answer_writer::AnswerWriter;
use crate::turns::dispatch::FinishedCall;
use crate::turns::turn::CallIds;

/// The steps of a kept run.
pub(crate) struct KeptSteps {
    journal: Arc<RunJournal>,
    output: Arc<KeptOutput>,
    /// Steps that are finished and have not been read again yet.
    recorded: VecDeque<JournalStep>,
    log: LogSummary,
    /// Who pays for the turns; tokens and target are added.
    usage: UsageRow,
    rerun: RerunPolicy,
    /// Whether a stored turn counts the request.
    request_is_counted: bool,
    /// Whether the next calls may have been made by a server that died.
    calls_may_have_run: bool,
    /// Results of calls that are not repeated, with their places.
    not_repeated: Vec<(usize, FinishedCall)>,
    container: Option<ContainerState>,
    /// What the container was set up with, as of the results that are stored next.
    setup: Option<ContainerSetup>,
}

impl KeptSteps {
    pub(crate) fn new(
        journal: Arc<RunJournal>,
        output: Arc<KeptOutput>,
        recorded: VecDeque<JournalStep>,
        log: LogSummary,
        usage: UsageRow,
        rerun: RerunPolicy,
    ) -> Self {
        KeptSteps {
            journal,
            output,
            recorded,
            log,
            usage,
            rerun,
            request_is_counted: false,
            calls_may_have_run: false,
            not_repeated: Vec::new(),
            container: None,
            setup: None,
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

    /// Stores a turn with its events.
    pub(crate) async fn store_turn(
        &mut self,
        call_ids: CallIds,
        started: &TurnStarted,
        response: &Response,
        writer: &mut AnswerWriter,
    ) -> Result<(), JournalStop> {
        if call_ids == CallIds::Recorded {
            self.request_is_counted = true;
            self.finish_replayed_step(writer);
            return Ok(());
        }
        if let Some(stop) = self.output.take_stop() {
            return Err(stop);
        }
        fail_point("turn-received");
        self.calls_may_have_run = false;
        let record = TurnRecord {
            provider: started.provider.clone(),
            model: started.model.clone(),
            price: started.price.clone(),
            response: response.clone(),
        };
        let changes = StepChanges {
            usage: vec![self.turn_usage(started, response)],
            ..StepChanges::default()
        };
        self.append(StepKind::Turn, &record, changes).await?;
        self.request_is_counted = true;
        fail_point("turn-stored");
        Ok(())
    }

    fn turn_usage(&self, started: &TurnStarted, response: &Response) -> UsageRow {
        let usage = &response.usage;
        let price = started.price.as_ref();
        // The first turn counts the request: its meter would be lost with the server.
        let requests = u64::from(!self.request_is_counted);
        UsageRow {
            requests,
            unpriced: requests * u64::from(price.is_none()),
            provider: started.provider.clone(),
            upstream_model: started.model.clone(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_input_tokens,
            cache_write_tokens: usage.cache_creation_input_tokens,
            cost_nanos: price.map_or(0, |price| price.cost_nanos(usage)),
            ..self.usage.clone()
        }
    }

    /// The calls to be made now. If they may have been made before by a server that died, and
    /// could reach the network then, they are not repeated unless the operator allows it.
    pub(crate) async fn take_repeatable(
        &mut self,
        calls: Vec<ToolCall>,
        toolbox: &Toolbox,
    ) -> Vec<ToolCall> {
        fail_point("before-command");
        if !std::mem::take(&mut self.calls_may_have_run) {
            return calls;
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
            return calls;
        }
        let mut repeated = Vec::new();
        for (place, call) in calls.into_iter().enumerate() {
            if toolbox.is_read_only(&call.name) {
                repeated.push(call);
            } else {
                let text = model_text::INTERRUPTED;
                let done = FinishedCall::not_run(call, text, ErrorCode::Unavailable);
                self.not_repeated.push((place, done));
            }
        }
        repeated
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

    /// What calls have produced: files for the client, and changes of the container.
    pub(crate) async fn stage_results(
        &mut self,
        run: &PreparedRun,
        files: Vec<StagedFile>,
    ) -> Result<StepChanges, RunError> {
        let mut changes = StepChanges {
            files,
            ..StepChanges::default()
        };
        let (Some(id), Some(workspace)) = (run.container_id(), run.tools.toolbox.workspace())
        else {
            return Ok(changes);
        };
        let store = run.context.engine.store();
        let sandbox = workspace.sandbox();
        let container = match self.container.take().filter(|known| known.id() == id) {
            Some(container) => container,
            None => {
                run.save_container(&id).await?;
                let lease = self.journal.lease().await;
                ContainerState::open(store, sandbox, &lease, &id).await?
            }
        };
        let container = self.container.insert(container);
        (changes.contents, changes.container) = container.stage_changes(store, sandbox).await?;
        self.setup = Some(container.setup(sandbox).await?);
        fail_point("files-staged");
        Ok(changes)
    }

    /// Stores the results of the calls of one turn.
    pub(crate) async fn store_results(
        &mut self,
        calls: Vec<FinishedCall>,
        container: Option<String>,
        changes: StepChanges,
    ) -> Result<(), JournalStop> {
        let record = ResultsRecord {
            setup: self.setup.take().filter(|_| container.is_some()),
            container,
            calls,
        };
        self.append(StepKind::ToolResult, &record, changes).await?;
        if let Some(container) = &mut self.container {
            container.committed();
        }
        fail_point("results-stored");
        Ok(())
    }

    async fn append(
        &self,
        kind: StepKind,
        record: &impl Serialize,
        changes: StepChanges,
    ) -> Result<(), JournalStop> {
        append_record(&self.journal, kind, record, changes, &self.output).await
    }
}

/// Stores a step with the events that were held back for it.
pub(crate) async fn append_record(
    journal: &RunJournal,
    kind: StepKind,
    record: &impl Serialize,
    changes: StepChanges,
    output: &KeptOutput,
) -> Result<(), JournalStop> {
    let body = serde_json::to_string(record).map_err(|error| StoreError::MalformedRow {
        table: "journal_steps",
        reason: error.to_string(),
    })?;
    let step = NewStep {
        kind,
        call: None,
        body: &body,
    };
    journal.append(&step, changes, &output.take_held()).await
}
