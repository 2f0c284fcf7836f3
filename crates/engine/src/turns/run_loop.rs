//! The loop of a run: a turn of the model, then the calls of Prowess's tools, until the model
//! makes none. `call_results` and `finish` have the rest of [`RunLoop`].

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

use prowess_provider::ModelOutput;
use prowess_store::{Error as StoreError, RunState, UsageRow};
use prowess_toolbox::ErrorCode;
use prowess_wire::neutral::{Block, Map, Message, Role, StopReason, TokenUsage};
use serde_json::{Value, json};

use crate::error::RunError;
use crate::events::{RunEvent, RunStep, TurnStarted};
use crate::intake::plan::{skills_in_request, upstream_container};
use crate::intake::prepared::PreparedRun;
use crate::intake::run_tools;
use crate::kept::fail_point::fail_point;
use crate::kept::journal_stop::JournalStop;
use crate::kept::step_record::TurnRecord;
use crate::kept::steps::KeptSteps;
use crate::model_text;
use crate::record::{CostObserver, RunLog, RunUsage};
use crate::tool_call::{ToolCall, with_original_call};
use crate::turns::answer_writer::{AnswerWriter, EventSink};
use crate::turns::budget::{LimitKind, RunBudget};
use crate::turns::collect::OutputFiles;
use crate::turns::dispatch::FinishedCall;
use crate::turns::noted_steps::{requested, turn_ended};
use crate::turns::provider_files::{ProviderFileTracker, file_account};
use crate::turns::turn::{CallIds, TurnOutput, stream_turn};
use crate::turns::upstream_output::UpstreamOutput;

/// A run in progress.
pub(crate) struct RunLoop {
    pub(super) run: PreparedRun,
    pub(super) budget: RunBudget,
    pub(super) writer: AnswerWriter,
    pub(super) log: RunLog,
    /// Files that Prowess's tools have created.
    pub(super) outputs: OutputFiles,
    /// What the upstream's own servers have produced.
    pub(super) upstream: UpstreamOutput,
    /// Calls and results to be stored because the client receives less of them, by call.
    pub(super) originals: Vec<(String, String)>,
    /// Whether any tool was called that the client did not offer itself.
    pub(super) has_server_calls: bool,
    /// The journal, if the run is kept.
    pub(super) kept: Option<KeptSteps>,
}

/// Why a run stops before its end.
#[derive(Debug)]
pub(crate) enum RunStop {
    /// It failed.
    Failed(RunError),
    /// Its journal does not accept more.
    Journal(JournalStop),
}

impl From<RunError> for RunStop {
    fn from(error: RunError) -> Self {
        RunStop::Failed(error)
    }
}

impl From<JournalStop> for RunStop {
    fn from(stop: JournalStop) -> Self {
        match stop {
            // Nothing was stored, and trying again would not help.
            JournalStop::Store(
                error @ (StoreError::QuotaExceeded { .. }
                | StoreError::StorageFull { .. }
                | StoreError::Invalid { .. }
                | StoreError::NulInText),
            ) => RunStop::Failed(error.into()),
            stop => RunStop::Journal(stop),
        }
    }
}

/// Why and how the response ends.
pub(crate) struct RunEnd {
    pub(crate) stop_reason: Option<StopReason>,
    pub(super) stop_sequence: Option<String>,
    pub(super) stop_details: Option<Value>,
}

impl RunEnd {
    /// The state of a kept run that ends so.
    pub(crate) fn state(&self) -> RunState {
        match &self.stop_reason {
            Some(StopReason::MaxTokens | StopReason::ContextWindow | StopReason::PauseTurn) => {
                RunState::Incomplete
            }
            _ => RunState::Completed,
        }
    }
}

impl RunLoop {
    /// Boxed, because it has 4.6 KB that would be copied with every future that owns it.
    pub(crate) fn new(run: PreparedRun, id: String, sink: EventSink) -> Box<Self> {
        let context = &run.context;
        let settings = context.engine.settings();
        let mut log = RunLog::new(
            context.engine.recorder(),
            settings.record_detail,
            id,
            &context.tenant,
            context.route.name(),
            context.features.name,
        );
        log.set_skills(&run.skills);
        log.costs = CostObserver::new(&run);
        Box::new(RunLoop {
            budget: RunBudget::new(settings.limits.with_max_turns(run.max_turns)),
            writer: AnswerWriter::new(context.features, sink),
            log,
            outputs: OutputFiles::default(),
            upstream: UpstreamOutput::default(),
            originals: Vec::new(),
            has_server_calls: false,
            kept: None,
            run,
        })
    }

    /// Makes the run known to the store while it is in progress. `usage` says who pays for it.
    pub(crate) fn track(&mut self, usage: UsageRow) -> Option<RunUsage> {
        let engine = self.run.context.engine.clone();
        self.log.track(engine.recorder(), usage)
    }

    /// Makes it a kept run that had been going on for the time `earlier`. Its record is written
    /// if `writes_record` is true at its end.
    pub(crate) fn keep(
        &mut self,
        mut kept: KeptSteps,
        earlier: Duration,
        writes_record: Arc<AtomicBool>,
    ) {
        self.budget.add_earlier_time(earlier);
        self.log.add_earlier_time(earlier);
        kept.start(&mut self.writer);
        self.kept = Some(kept);
        self.log.write_if(writes_record);
    }

    /// Runs all turns, and writes how the run ended.
    pub(crate) async fn run(mut self: Box<Self>) {
        match self.run_turns().await {
            Ok(end) => self.finish(end).await,
            Err(RunStop::Failed(error)) => self.fail(error).await,
            // Only kept runs have a journal.
            Err(RunStop::Journal(_)) => {}
        }
    }

    /// Ends the run with an error.
    pub(crate) async fn fail(&mut self, error: RunError) {
        // The tenant reads the record, and is not shown where the operator keeps a key or data.
        self.log.set_end("failed", Some(error.client_message()));
        self.log.set_container(self.run.container_id());
        self.writer.send(RunEvent::Failed(error)).await;
    }

    /// The loop.
    pub(crate) async fn run_turns(&mut self) -> Result<RunEnd, RunStop> {
        self.note_step(requested(&self.run)).await;
        if let Some(offer) = self.run.offer() {
            let count = offer.skills.len();
            self.emit_step(RunStep::SkillsOffered { count }).await;
        }
        self.run_open_calls().await?;
        loop {
            let TurnOutput {
                response,
                server_calls,
                client_calls,
                text_begins_at: _,
            } = self.run_turn().await?;
            let end = RunEnd {
                stop_reason: response.stop_reason,
                stop_sequence: response.stop_sequence,
                stop_details: response.stop_details,
            };
            if server_calls.is_empty()
                && client_calls.is_empty()
                && self.should_continue(end.stop_reason.as_ref())
            {
                continue;
            }
            if server_calls.is_empty() {
                self.suspend_turns(&client_calls).await;
                return Ok(end);
            }
            if is_cut_short(end.stop_reason.as_ref()) {
                self.skip_calls(server_calls, model_text::CUT_SHORT).await;
                return Ok(end);
            }
            if let (true, Some(limit)) = (client_calls.is_empty(), self.reached_limit()) {
                return Ok(self.pause(server_calls, limit).await);
            }
            Box::pin(self.dispatch_calls(server_calls)).await?;
            if !client_calls.is_empty() {
                self.suspend_turns(&client_calls).await;
                return Ok(end);
            }
        }
    }

    /// Whether an upstream that has paused is called again at once: the client cannot
    /// resume it.
    fn should_continue(&self, reason: Option<&StopReason>) -> bool {
        !self.run.context.features.resumes_paused_runs
            && reason == Some(&StopReason::PauseTurn)
            && self.reached_limit().is_none()
    }

    /// The limit that ends the run here. Steps that are read again were within the limits when
    /// they were made.
    fn reached_limit(&self) -> Option<LimitKind> {
        if self.kept.as_ref().is_some_and(KeptSteps::has_recorded) {
            return None;
        }
        let check = self.run.spend_check.as_ref();
        let is_spent = check.is_some_and(|check| !check.allows(self.budget.spent_nanos()));
        let reached = self.budget.reached_limit();
        reached.or(is_spent.then_some(LimitKind::Budget))
    }

    /// One turn of the model, read from the journal if it was made before.
    async fn run_turn(&mut self) -> Result<TurnOutput, RunStop> {
        let recorded = self.kept.as_mut().map_or(Ok(None), KeptSteps::next_turn);
        self.set_tools();
        let (call_ids, source) = match recorded.map_err(RunError::from)? {
            Some(turn) => (CallIds::Recorded, self.recorded_turn(turn)),
            None => (CallIds::FromModel, self.call_model().await?),
        };
        let (started, output) = source;
        let provider = started.provider.clone();
        self.emit_step(RunStep::TurnStarted(started.clone())).await;
        let context = &self.run.context;
        let tracker = ProviderFileTracker {
            store: context.engine.store(),
            tenant: &context.tenant,
            account: file_account(&context.route, &context.credentials, &provider),
        };
        let tools = &self.run.tools;
        let output = stream_turn(output, call_ids, tools, &tracker, &mut self.writer).await;
        let mut output = output.map_err(|error| RunError::ResponseInterrupted(Box::new(error)))?;
        let price = started.price.as_ref();
        let cost = price.map_or(0, |price| price.cost_nanos(&output.response.usage));
        // Before it is stored: from then on who reads usage rows finds the turn there.
        self.note_step(turn_ended(started.number, &output.response, cost))
            .await;
        let (run, response) = (&self.run, &output.response);
        let costs = &mut self.log.costs;
        costs.add_turn(run, &response.content, &response.usage, price);
        if let Some(kept) = &mut self.kept {
            kept.set_turn_costs(&started, costs.take_new());
            let stored = kept.store_turn(run, call_ids, &started, response, &mut self.writer);
            Box::pin(stored).await?;
        }
        let usage = &output.response.usage;
        self.budget.add_turn(usage);
        if started.called_at.is_some() {
            self.budget.add_cost(cost);
        }
        self.log.set_container(self.run.container_id());
        self.log.add_turn(usage, cost);
        self.send_totals().await;
        self.continue_in_container(output.response.container.take());
        let content = std::mem::take(&mut output.response.content);
        let rest = std::mem::take(&mut output.response.rest);
        let begins_at = output.text_begins_at;
        let has_calls = self.upstream.add_turn(&content, rest, begins_at, &provider);
        self.has_server_calls |= has_calls;
        self.add_response(content, !output.server_calls.is_empty());
        Ok(output)
    }

    /// Sets the tools of the next turn: loading a skill adds its own.
    fn set_tools(&mut self) {
        let (conversation, toolbox) = (&mut self.run.conversation, &self.run.tools.toolbox);
        let tools = run_tools::all_tools(&conversation.client_tools, toolbox);
        self.log.costs.set_tools(&tools, toolbox);
        conversation.request.tools = tools;
    }

    /// Calls the model.
    async fn call_model(&mut self) -> Result<(TurnStarted, ModelOutput), RunError> {
        fail_point("before-turn");
        let context = &mut self.run.context;
        let mut span = None;
        if context.engine.settings().spans {
            span = context.credentials.begin_span();
        }
        let conversation = &mut self.run.conversation;
        let request = &mut conversation.request;
        let (called, called_at) = (Instant::now(), SystemTime::now());
        let reply = Box::pin(context.route.call(request, &context.credentials)).await?;
        let mut dropped = std::mem::take(&mut conversation.dropped);
        dropped.extend(reply.dropped);
        let started = TurnStarted {
            number: self.budget.turns() + 1,
            provider: reply.provider,
            model: reply.model,
            price: reply.price,
            dropped,
            wait_ms: u64::try_from(called.elapsed().as_millis()).unwrap_or(u64::MAX),
            failures: reply.failures,
            decision: reply.decision,
            called_at: Some(called_at),
            span,
        };
        Ok((started, reply.output))
    }

    /// A turn from the journal.
    fn recorded_turn(&self, turn: TurnRecord) -> (TurnStarted, ModelOutput) {
        let started = TurnStarted {
            number: self.budget.turns() + 1,
            provider: turn.provider,
            model: turn.model,
            price: turn.price,
            dropped: Vec::new(),
            wait_ms: 0,
            failures: Vec::new(),
            decision: None,
            called_at: None,
            span: None,
        };
        (started, ModelOutput::Response(Box::new(turn.response)))
    }

    fn add_response(&mut self, content: Vec<Block>, has_calls: bool) {
        let request = &mut self.run.conversation.request;
        request
            .messages
            .push(Message::new(Role::Assistant, content));
        if has_calls {
            request.tool_choice = run_tools::relax_choice(request.tool_choice.take());
        }
    }

    /// The next turn continues in the upstream's container, if it has one.
    fn continue_in_container(&mut self, container: Option<Value>) {
        let Some(container) = container else {
            return;
        };
        if let Some(id) = container.get("id").and_then(Value::as_str) {
            let request = &mut self.run.conversation.request;
            let skills = skills_in_request(request);
            request.container = upstream_container(Some(id), &skills);
        }
        self.upstream.container = Some(container);
    }

    /// A paused conversation continues with the calls that were open.
    async fn run_open_calls(&mut self) -> Result<(), RunStop> {
        let open = std::mem::take(&mut self.run.conversation.open_calls);
        if open.is_empty() {
            return Ok(());
        }
        if let Some(kept) = &mut self.kept {
            kept.store_start(&self.run).await?;
        }
        let request = &self.run.conversation.request;
        let (id, model) = (self.log.id.clone(), request.model.clone());
        self.writer
            .start_message(id, model, TokenUsage::default(), Map::new())
            .await;
        Box::pin(self.dispatch_calls(open)).await
    }

    /// Ends the run before the model does. Clients that can resume get the open calls;
    /// others get results that say the calls were not run.
    async fn pause(&mut self, calls: Vec<ToolCall>, limit: LimitKind) -> RunEnd {
        self.emit_step(RunStep::LimitReached(limit)).await;
        if self.run.context.features.resumes_paused_runs {
            for call in calls.iter().filter(|call| !call.is_announced) {
                let command = json!({"command": format!("{} {}", call.name, call.input)});
                let input = with_original_call(call, command);
                self.writer
                    .write_call(&call.id, "bash_code_execution", &input)
                    .await;
            }
        } else {
            self.skip_calls(calls, model_text::LIMIT_REACHED).await;
        }
        RunEnd {
            stop_reason: Some(StopReason::PauseTurn),
            stop_sequence: None,
            stop_details: None,
        }
    }

    /// Writes an error as the result of calls that are not run.
    async fn skip_calls(&mut self, calls: Vec<ToolCall>, why: &str) {
        let done = calls
            .into_iter()
            .map(|call| FinishedCall::not_run(call, why, ErrorCode::Unavailable));
        self.write_results(done.collect()).await;
    }

    pub(super) async fn emit_step(&mut self, step: RunStep) {
        self.log.add_step(&step);
        self.writer.write_step(step).await;
    }

    /// Adds a step to the record, to the log of a kept run, and to the spans of a run.
    async fn note_step(&mut self, step: RunStep) {
        self.log.add_step(&step);
        if self.kept.is_some() || self.run.context.engine.settings().spans {
            self.writer.write_step(step).await;
        }
    }
}

/// Whether the model was stopped, so that its last call may be incomplete.
fn is_cut_short(reason: Option<&StopReason>) -> bool {
    matches!(
        reason,
        Some(StopReason::MaxTokens | StopReason::ContextWindow | StopReason::Refusal)
    )
}
