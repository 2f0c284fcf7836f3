//! Storing the steps of a kept run as they finish: each with everything it produced.

use std::time::Duration;

use prowess_store::{Error as StoreError, NewStep, StagedFile, StepChanges, StepKind, UsageRow};
use prowess_wire::neutral::Response;
use serde::Serialize;

use super::container_state::ContainerState;
use super::fail_point::fail_point;
use super::journal_stop::JournalStop;
use super::step_record::{OpenedContainer, ResultsRecord, StartRecord, TurnRecord};
use super::steps::{KeptSteps, RunStart};
use crate::error::RunError;
use crate::events::TurnStarted;
use crate::intake::prepared::PreparedRun;
use crate::tool_call::ToolCall;
use crate::turns::answer_writer::AnswerWriter;
use crate::turns::dispatch::FinishedCall;
use crate::turns::run_loop::RunStop;
use crate::turns::turn::CallIds;

impl KeptSteps {
    /// Stores what is fixed before the first turn as a step of its own, if it is not stored. Only
    /// a run that begins with calls does this: their commands must not run before the files
    /// are stored that they are undone to.
    pub(crate) async fn store_start(&mut self, run: &PreparedRun) -> Result<(), RunStop> {
        let mut changes = StepChanges::default();
        if let Some(start) = self.take_start(run, &mut changes).await? {
            self.append(StepKind::Start, &start, changes).await?;
        }
        Ok(())
    }

    /// What is fixed before the first turn, if it is not stored yet. The files that the container
    /// has now are the first that a lost command is undone to.
    async fn take_start(
        &mut self,
        run: &PreparedRun,
        changes: &mut StepChanges,
    ) -> Result<Option<StartRecord>, RunError> {
        let RunStart::Due(began) = std::mem::replace(&mut self.start, RunStart::Stored) else {
            return Ok(None);
        };
        self.stage_container(run, changes).await?;
        Ok(Some(StartRecord {
            container: run.container_id(),
            upstream_container: run.container.upstream_id.clone(),
            pins: run.pins(),
            offer: run.offer().cloned(),
            native_skills: run.container.native_skills.clone(),
            setup: self.setup.take(),
            elapsed_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        }))
    }

    /// Stores a turn with its events; the first one with what was fixed before it.
    pub(crate) async fn store_turn(
        &mut self,
        run: &PreparedRun,
        call_ids: CallIds,
        started: &TurnStarted,
        response: &Response,
        writer: &mut AnswerWriter,
    ) -> Result<(), RunStop> {
        if call_ids == CallIds::Recorded {
            self.request_is_counted = true;
            self.finish_replayed_step(writer);
            return Ok(());
        }
        if let Some(stop) = self.output.take_stop() {
            return Err(stop.into());
        }
        fail_point("turn-received");
        self.calls_may_have_run = false;
        let mut changes = StepChanges {
            usage: vec![self.turn_usage(started, response)],
            ..StepChanges::default()
        };
        let record = TurnRecord {
            start: self.take_start(run, &mut changes).await?,
            provider: started.provider.clone(),
            model: started.model.clone(),
            price: started.price.clone(),
            response: response.clone(),
        };
        self.append(StepKind::Turn, &record, changes).await?;
        self.request_is_counted = true;
        fail_point("turn-stored");
        Ok(())
    }

    /// Opens the container that calls are about to use, and stores which one it is, if commands
    /// go on when this server has ended: its next server finds them by the container.
    pub(crate) async fn store_container(
        &mut self,
        run: &PreparedRun,
        calls: &[ToolCall],
        time_left: Duration,
    ) -> Result<(), RunStop> {
        let toolbox = &run.tools.toolbox;
        let workspace = toolbox.workspace();
        let Some(workspace) = workspace.filter(|place| place.sandbox().keeps_commands()) else {
            return Ok(());
        };
        if !calls.iter().any(|call| toolbox.runs_commands(&call.name)) {
            return Ok(());
        }
        let opened = tokio::time::timeout(time_left, Box::pin(workspace.open())).await;
        let Ok(Ok(id)) = opened else {
            // The call tries again, and tells the model.
            return Ok(());
        };
        if self
            .container
            .as_ref()
            .is_some_and(|known| known.id() == id)
        {
            return Ok(());
        }
        let mut changes = StepChanges::default();
        self.stage_container(run, &mut changes).await?;
        let record = OpenedContainer {
            container: Some(id),
            setup: self.setup.take(),
            calls_step: None,
        };
        self.append(StepKind::Start, &record, changes).await?;
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
        self.stage_container(run, &mut changes).await?;
        fail_point("files-staged");
        Ok(changes)
    }

    /// Adds what has changed in the container since the last step, if there is one. A new one is
    /// recorded with the step: until then no client knows it.
    async fn stage_container(
        &mut self,
        run: &PreparedRun,
        changes: &mut StepChanges,
    ) -> Result<(), RunError> {
        let (Some(id), Some(workspace)) = (run.container_id(), run.tools.toolbox.workspace())
        else {
            return Ok(());
        };
        let store = run.context.engine.store();
        let container = match self.container.take().filter(|known| known.id() == id) {
            Some(container) => container,
            None => {
                changes.new_container = Some(run.container_record(&id));
                let lease = self.journal.lease().await;
                ContainerState::create(store, workspace.sandbox(), &lease, &id).await?
            }
        };
        let container = self.container.insert(container);
        (changes.contents, changes.container) = container.stage_changes(store).await?;
        self.setup = Some(container.setup().await?);
        Ok(())
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
        fail_point("results-stored");
        Ok(())
    }

    /// Stores a step with the events that were held back for it.
    pub(super) async fn append(
        &mut self,
        kind: StepKind,
        record: &impl Serialize,
        changes: StepChanges,
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
        let new_container = changes.new_container.clone();
        let held = self.output.take_held();
        self.journal.append(&step, changes, &held).await?;
        self.calls_step = None;
        if let Some(container) = &mut self.container {
            container.committed();
        }
        if new_container.is_some() {
            self.container_record = new_container;
        }
        Ok(())
    }
}
