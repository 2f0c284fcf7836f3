//! A run at work: the model speaks, our tools answer, until it asks nothing more of us.

use prowess_provider::{ClientCredentials, Route};
use prowess_store::TenantId;
use prowess_toolbox::{ErrorCode, Toolbox};
use prowess_wire::neutral::{
    Block, Content, Map, Message, Request, Role, StopReason, StreamEvent, TokenUsage, Tool,
    merge_dialect_fields,
};
use prowess_wire::{ClientDialect, Dropped};
use serde_json::{Value, json};

use crate::answer_writer::AnswerWriter;
use crate::budget::{LimitKind, RunBudget};
use crate::call_records::{self, ClientView};
use crate::collect::{OutputFiles, OutputStore};
use crate::dispatch::{self, FinishedCall};
use crate::engine::Engine;
use crate::error::RunError;
use crate::events::{RunEvent, RunStep, TurnStarted};
use crate::native::ProviderFileTracker;
use crate::plan::{native_skills, upstream_container};
use crate::record::RunLog;
use crate::resolve::{RunSkill, SkillPin};
use crate::restore::ToolCall;
use crate::run_container::{self, ContainerUse, RunContainer};
use crate::run_tools::{self, ToolNames};
use crate::turn::{TurnOutput, stream_turn};
use crate::{answer_writer, hidden_turns, litellm, native, tool_results};

const CUT_SHORT_ERROR: &str = "Error: not run, because the answer was cut short before it";
const LIMIT_REACHED_ERROR: &str =
    "Error: not run, because the run has met its limit; ask again to go on";

/// A run at work.
pub(crate) struct RunLoop {
    pub(crate) engine: Engine,
    pub(crate) tenant: TenantId,
    pub(crate) route: Route,
    pub(crate) credentials: ClientCredentials,
    /// What the model is asked next; the conversation in it grows.
    pub(crate) request: Request,
    /// How long the conversation was when the run began.
    pub(crate) first_new_message: usize,
    /// The client's tools.
    pub(crate) client_tools: Vec<Tool>,
    pub(crate) toolbox: Toolbox,
    pub(crate) tool_names: ToolNames,
    /// Calls that a paused run left open.
    pub(crate) open_calls: Vec<ToolCall>,
    pub(crate) container: RunContainer,
    pub(crate) skills: Vec<RunSkill>,
    /// The upstream's own container, as it last told it.
    pub(crate) upstream_container: Option<Value>,
    /// Files that the upstream's own servers made, as it names them.
    pub(crate) upstream_files: Vec<Value>,
    /// What the client is not told of calls and results, by call.
    pub(crate) call_records: Vec<(String, String)>,
    /// What the turns' answers said that only their own dialect has.
    pub(crate) response_extras: Map,
    /// What of the request was left out before it was written.
    pub(crate) dropped: Vec<Dropped>,
    /// Whether any tool was called that only a server's clients see.
    pub(crate) has_server_calls: bool,
    pub(crate) budget: RunBudget,
    pub(crate) outputs: OutputFiles,
    pub(crate) writer: AnswerWriter,
    pub(crate) log: RunLog,
}

/// Why and how the answer ends.
struct RunEnd {
    stop_reason: Option<StopReason>,
    stop_sequence: Option<String>,
    stop_details: Option<Value>,
}

impl RunLoop {
    /// Sees the run through, and tells how it ended.
    pub(crate) async fn run(mut self) {
        match self.run_turns().await {
            Ok(end) => self.end(end).await,
            Err(error) => {
                self.log.set_end("failed", Some(error.to_string()));
                self.log.set_container(self.container_id());
                self.writer.send(RunEvent::Failed(error)).await;
            }
        }
    }

    /// The loop.
    async fn run_turns(&mut self) -> Result<RunEnd, RunError> {
        self.run_open_calls().await;
        loop {
            let TurnOutput {
                response,
                server_calls,
                client_calls,
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
                self.save_hidden_turns(&client_calls).await;
                return Ok(end);
            }
            if is_cut_short(end.stop_reason.as_ref()) {
                self.skip_calls(server_calls, CUT_SHORT_ERROR).await;
                return Ok(end);
            }
            if let (true, Some(limit)) = (client_calls.is_empty(), self.budget.reached_limit()) {
                return Ok(self.pause(server_calls, limit).await);
            }
            self.dispatch_calls(server_calls).await;
            if !client_calls.is_empty() {
                self.save_hidden_turns(&client_calls).await;
                return Ok(end);
            }
        }
    }

    /// Whether an upstream that has paused is asked again at once: only clients of its
    /// own dialect know how to.
    fn should_continue(&self, reason: Option<&StopReason>) -> bool {
        self.writer.client != ClientDialect::Messages
            && native::has_paused(reason)
            && self.budget.reached_limit().is_none()
    }

    /// One turn of the model.
    async fn run_turn(&mut self) -> Result<TurnOutput, RunError> {
        self.request.tools = run_tools::all_tools(&self.client_tools, &self.toolbox);
        let reply = self.route.call(&self.request, &self.credentials).await?;
        let mut dropped = std::mem::take(&mut self.dropped);
        dropped.extend(reply.dropped);
        let provider = reply.provider.clone();
        self.emit_step(RunStep::TurnStarted(TurnStarted {
            number: self.budget.turns() + 1,
            provider: reply.provider,
            model: reply.model,
            price: reply.price,
            dropped,
        }))
        .await;
        let tracker = ProviderFileTracker {
            store: self.engine.store(),
            tenant: &self.tenant,
            provider: native::file_host(&self.route, &provider),
        };
        let (toolbox, names) = (&self.toolbox, &self.tool_names);
        let output = stream_turn(reply.output, toolbox, names, &tracker, &mut self.writer).await;
        let mut output = output.map_err(|error| RunError::ResponseInterrupted(Box::new(error)))?;
        let usage = &output.response.usage;
        self.budget.add_turn(usage);
        self.log.add_turn(usage);
        let used = self.log.usage().clone();
        self.writer.send(RunEvent::Usage(used)).await;
        self.update_upstream_container(output.response.container.take());
        merge_dialect_fields(&mut self.response_extras, &output.response.rest);
        let content = std::mem::take(&mut output.response.content);
        self.record_native_output(&content, &provider);
        self.request
            .messages
            .push(Message::new(Role::Assistant, content));
        if !output.server_calls.is_empty() {
            self.request.tool_choice = run_tools::relax_choice(self.request.tool_choice.take());
        }
        Ok(output)
    }

    /// The next turn goes on in the upstream's container, if it has one.
    fn update_upstream_container(&mut self, container: Option<Value>) {
        let Some(container) = container else {
            return;
        };
        if let Some(id) = container.get("id").and_then(Value::as_str) {
            let skills = native_skills(&self.request);
            self.request.container = upstream_container(Some(id), &skills);
        }
        self.upstream_container = Some(container);
    }

    /// Notes what the upstream's own servers did: of that, Chat tells nothing but files.
    fn record_native_output(&mut self, content: &[Block], provider: &str) {
        for block in content {
            self.has_server_calls |= matches!(block.content, Content::ServerToolUse { .. });
            self.upstream_files
                .extend(native::file_references(&block.content, provider));
        }
    }

    /// A conversation that was paused goes on with the calls it ended in.
    async fn run_open_calls(&mut self) {
        let open = std::mem::take(&mut self.open_calls);
        if open.is_empty() {
            return;
        }
        let (id, model) = (self.log.id.clone(), self.request.model.clone());
        self.writer
            .start_message(id, model, TokenUsage::default(), Map::new())
            .await;
        self.dispatch_calls(open).await;
    }

    /// Makes calls, tells the client of them and the model of their results.
    async fn dispatch_calls(&mut self, calls: Vec<ToolCall>) {
        self.has_server_calls = true;
        for ToolCall {
            id, name, input, ..
        } in &calls
        {
            let (id, name, input) = (id.clone(), name.clone(), input.clone());
            self.emit_step(RunStep::ToolStarted { id, name, input })
                .await;
        }
        let (left, ping) = (
            self.budget.time_left(),
            self.engine.settings().ping_interval,
        );
        let done = dispatch::call_all(&self.toolbox, calls, left, &self.writer, ping).await;
        self.write_results(done).await;
    }

    /// Tells of calls that have ended: those the client does not know yet, then all
    /// results, in the order of the calls.
    async fn write_results(&mut self, done: Vec<FinishedCall>) {
        for FinishedCall { call, outcome, .. } in done.iter().filter(|done| !done.call.is_announced)
        {
            let input = run_tools::with_original_call(call, outcome.native.input());
            self.writer
                .write_call(&call.id, outcome.native.tool(), &input)
                .await;
        }
        let mut results = Vec::with_capacity(done.len());
        for done in done {
            results.push(self.write_result(done).await);
        }
        tool_results::add_results(&mut self.request.messages, results);
    }

    async fn write_result(&mut self, done: FinishedCall) -> Block {
        let FinishedCall {
            call,
            outcome,
            duration,
        } = done;
        let output_store = self.toolbox.workspace().map(|workspace| OutputStore {
            store: self.engine.store(),
            tenant: &self.tenant,
            workspace,
            retention: self.engine.settings().file_retention,
        });
        let collected = match output_store {
            Some(output_store) => self.outputs.collect(output_store, &outcome.outputs).await,
            None => Default::default(),
        };
        if outcome.native.tool() == "bash_code_execution" {
            self.budget.add_sandbox_time(duration);
        }
        self.log.add_call(outcome.skill.as_deref());
        self.emit_step(RunStep::ToolEnded {
            id: call.id.clone(),
            name: call.name.clone(),
            is_error: outcome.is_error,
            output: outcome.text_content(),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        })
        .await;
        for name in outcome.loaded_skills.clone() {
            self.emit_step(RunStep::SkillLoaded { name }).await;
        }
        let mut content = dispatch::native_content(&outcome.native, &collected.file_ids);
        for made in collected.new_files {
            let session = self.container_id().unwrap_or_default();
            if self.writer.client == ClientDialect::Gemini {
                answer_writer::describe_file(&mut content, &session, &made);
            }
            self.writer.add_output_file(&session, made.clone());
            self.emit_step(RunStep::FileCreated(made)).await;
        }
        let result = dispatch::result_block(&call.id, &outcome, &collected.problems);
        let (tool, input) = self.tool_names.native_call(&call).unwrap_or_else(|| {
            let native = outcome.native.input();
            (
                outcome.native.tool(),
                run_tools::with_original_call(&call, native),
            )
        });
        let view = ClientView {
            client: self.writer.client,
            call: &call,
            tool,
            input: &input,
            content: &content,
            result: &result,
        };
        let members = self.skills.iter().map(|chosen| chosen.member.clone());
        let members: Vec<_> = members.collect();
        self.call_records
            .extend(view.to_record(&members, &self.tool_names));
        self.writer.write_result(&call.id, tool, content).await;
        result
    }

    /// Ends before the model does. Messages clients may send the open calls on; others
    /// are told that nothing came of them.
    async fn pause(&mut self, calls: Vec<ToolCall>, limit: LimitKind) -> RunEnd {
        self.emit_step(RunStep::LimitReached(limit)).await;
        if self.writer.client == ClientDialect::Messages {
            for call in calls.iter().filter(|call| !call.is_announced) {
                let command = json!({"command": format!("{} {}", call.name, call.input)});
                let input = run_tools::with_original_call(call, command);
                self.writer
                    .write_call(&call.id, "bash_code_execution", &input)
                    .await;
            }
        } else {
            self.skip_calls(calls, LIMIT_REACHED_ERROR).await;
        }
        RunEnd {
            stop_reason: Some(StopReason::PauseTurn),
            stop_sequence: None,
            stop_details: None,
        }
    }

    /// Says of calls that they were not made.
    async fn skip_calls(&mut self, calls: Vec<ToolCall>, why: &str) {
        let done = calls.into_iter().map(|call| FinishedCall {
            outcome: dispatch::not_run(&call, why, ErrorCode::Unavailable),
            duration: std::time::Duration::ZERO,
            call,
        });
        self.write_results(done.collect()).await;
    }

    /// The client is to answer calls of its own tools. What its dialect cannot carry of
    /// this run is kept until then.
    async fn save_hidden_turns(&mut self, client_calls: &[String]) {
        if client_calls.is_empty()
            || !self.has_server_calls
            || !hidden_turns::hides_turns(self.writer.client)
        {
            return;
        }
        let turns = self
            .request
            .messages
            .get(self.first_new_message..)
            .unwrap_or_default();
        let time = self.engine.settings().turn_retention;
        let kept =
            hidden_turns::save(self.engine.store(), &self.tenant, client_calls, turns, time).await;
        if let Err(error) = kept {
            tracing::warn!(%error, run = self.log.id, "the turns of a run cannot be kept");
        }
    }

    /// Keeps what the client is not told, until it goes on with the conversation. If
    /// that fails the model will read what the client was told instead.
    async fn save_call_records(&mut self) {
        let (store, time) = (self.engine.store(), self.engine.settings().turn_retention);
        let records = std::mem::take(&mut self.call_records);
        if let Err(error) = call_records::save(store, &self.tenant, &records, time).await {
            tracing::warn!(%error, run = self.log.id, "results of a run cannot be kept");
        }
    }

    async fn end(&mut self, end: RunEnd) {
        self.save_call_records().await;
        let container = self.final_container().await;
        let status = match &end.stop_reason {
            Some(StopReason::PauseTurn) => "paused",
            Some(StopReason::Refusal) => "refused",
            _ => "completed",
        };
        self.log.set_end(status, None);
        self.log.set_container(self.container_id());
        let mut rest = match self.engine.settings().litellm {
            true => {
                let made = &self.outputs.files;
                litellm::generated_files(self.toolbox.workspace(), made).await
            }
            false => Map::new(),
        };
        rest.extend(std::mem::take(&mut self.response_extras));
        let delta = StreamEvent::MessageDelta {
            stop_reason: end.stop_reason,
            stop_sequence: end.stop_sequence,
            stop_details: end.stop_details,
            container,
            usage: self.log.usage().clone(),
            rest,
        };
        self.writer.write(delta).await;
        self.writer.write(StreamEvent::MessageStop).await;
    }

    /// The container the client may name again: our session, if anything ran, else the
    /// upstream's own.
    async fn final_container(&mut self) -> Option<Value> {
        let upstream = self.upstream_container.take();
        let (Some(id), Some(workspace)) = (self.container_id(), self.toolbox.workspace()) else {
            if self.writer.client != ClientDialect::Messages {
                let store = self.engine.store();
                run_container::save_upstream_container(store, &self.tenant, upstream.as_ref())
                    .await;
            }
            return self.with_upstream_files(upstream);
        };
        let field = |key: &str| upstream.as_ref().and_then(|container| container.get(key));
        let native = field("skills").and_then(Value::as_array).cloned();
        let upstream = field("id").and_then(Value::as_str).map(str::to_owned);
        let container_use = ContainerUse {
            client: self.writer.client,
            id: &id,
            upstream: upstream.or_else(|| self.container.upstream_id.clone()),
            pins: self.pins(),
            native_skills: native.unwrap_or_else(|| native_skills(&self.request)),
            files: &self.outputs.files,
        };
        let (store, sandbox) = (self.engine.store(), workspace.sandbox());
        let container =
            RunContainer::save_and_render(store, sandbox, &self.tenant, container_use).await;
        self.with_upstream_files(Some(container))
    }

    /// Names the upstream's files where ours are named, for clients whose dialect has no
    /// other place for them.
    fn with_upstream_files(&self, container: Option<Value>) -> Option<Value> {
        let mut container = container?;
        if self.writer.client != ClientDialect::Messages
            && let Some(map) = container.as_object_mut()
            && let Value::Array(files) = map.entry("files").or_insert_with(|| json!([]))
        {
            files.extend(self.upstream_files.iter().cloned());
        }
        Some(container)
    }

    fn pins(&self) -> Vec<SkillPin> {
        let pins = self.skills.iter().filter_map(|chosen| chosen.pin.clone());
        pins.collect()
    }

    fn container_id(&self) -> Option<String> {
        self.toolbox.workspace()?.container_id()
    }

    async fn emit_step(&mut self, step: RunStep) {
        self.log.add_step(&step);
        self.writer.write_step(step).await;
    }
}

/// Whether the model was stopped, so that its last call may not be whole.
fn is_cut_short(reason: Option<&StopReason>) -> bool {
    matches!(
        reason,
        Some(StopReason::MaxTokens | StopReason::ContextWindow | StopReason::Refusal)
    )
}
