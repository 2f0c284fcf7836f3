//! A run at work: the model speaks, our tools answer, until it asks nothing more of us.

use prowess_provider::{Caller, Route};
use prowess_store::TenantId;
use prowess_toolbox::{ErrorCode, Toolbox};
use prowess_wire::neutral::{
    Block, Content, Map, Message, Request, Role, StopReason, StreamEvent, Tool, Usage, keep_own,
};
use prowess_wire::{Client, Dropped};
use serde_json::{Value, json};

use crate::budget::{Budget, Limit};
use crate::collect::{Collection, Keeper};
use crate::dispatch::{self, Done};
use crate::engine::Engine;
use crate::error::RunError;
use crate::events::{RunEvent, Step, Turn};
use crate::native::Notes;
use crate::offer::{self, Names};
use crate::plan::{native_skills, upstream_container};
use crate::record::Log;
use crate::resolve::{Chosen, Pin};
use crate::restore::Call;
use crate::seen::{self, Told};
use crate::session::{self, Session, Used};
use crate::tell::Teller;
use crate::turn::{Spoken, listen};
use crate::{hidden, litellm, native, results, tell};

const CUT: &str = "Error: not run, because the answer was cut short before it";
const PAUSED: &str = "Error: not run, because the run has met its limit; ask again to go on";

/// A run at work.
pub(crate) struct Work {
    pub(crate) engine: Engine,
    pub(crate) tenant: TenantId,
    pub(crate) route: Route,
    pub(crate) caller: Caller,
    /// What the model is asked next; the conversation in it grows.
    pub(crate) request: Request,
    /// How long the conversation was when the run began.
    pub(crate) began_at: usize,
    /// The client's tools.
    pub(crate) clients: Vec<Tool>,
    pub(crate) toolbox: Toolbox,
    pub(crate) names: Names,
    /// Calls that a paused run left open.
    pub(crate) open: Vec<Call>,
    pub(crate) session: Session,
    pub(crate) chosen: Vec<Chosen>,
    /// The upstream's own container, as it last told it.
    pub(crate) upstream_container: Option<Value>,
    /// Files that the upstream's own servers made, as it names them.
    pub(crate) upstream_files: Vec<Value>,
    /// What the client is not told of calls and results, by call.
    pub(crate) unsaid: Vec<(String, String)>,
    /// What the turns' answers said that only their own dialect has.
    pub(crate) own_answer: Map,
    /// What of the request was left out before it was written.
    pub(crate) dropped: Vec<Dropped>,
    /// Whether any tool was called that only a server's clients see.
    pub(crate) called: bool,
    pub(crate) budget: Budget,
    pub(crate) collection: Collection,
    pub(crate) teller: Teller,
    pub(crate) log: Log,
}

/// Why and how the answer ends.
struct End {
    reason: Option<StopReason>,
    sequence: Option<String>,
    details: Option<Value>,
}

impl Work {
    /// Sees the run through, and tells how it ended.
    pub(crate) async fn run(mut self) {
        match self.converse().await {
            Ok(end) => self.end(end).await,
            Err(error) => {
                self.log.ended("failed", Some(error.to_string()));
                self.log.session(self.session_id());
                self.teller.send(RunEvent::Failed(error)).await;
            }
        }
    }

    /// The loop.
    async fn converse(&mut self) -> Result<End, RunError> {
        self.answer_open_calls().await;
        loop {
            let Spoken {
                response,
                ours,
                theirs,
            } = self.turn().await?;
            let end = End {
                reason: response.stop_reason,
                sequence: response.stop_sequence,
                details: response.stop_details,
            };
            if ours.is_empty() && theirs.is_empty() && self.goes_on(end.reason.as_ref()) {
                continue;
            }
            if ours.is_empty() {
                self.hand_over(&theirs).await;
                return Ok(end);
            }
            if is_cut_short(end.reason.as_ref()) {
                self.leave(ours, CUT).await;
                return Ok(end);
            }
            if let (true, Some(limit)) = (theirs.is_empty(), self.budget.met()) {
                return Ok(self.pause(ours, limit).await);
            }
            self.dispatch(ours).await;
            if !theirs.is_empty() {
                self.hand_over(&theirs).await;
                return Ok(end);
            }
        }
    }

    /// Whether an upstream that has paused is asked again at once: only clients of its
    /// own dialect know how to.
    fn goes_on(&self, reason: Option<&StopReason>) -> bool {
        self.teller.client != Client::Messages
            && native::has_paused(reason)
            && self.budget.met().is_none()
    }

    /// One turn of the model.
    async fn turn(&mut self) -> Result<Spoken, RunError> {
        self.request.tools = offer::tools(&self.clients, &self.toolbox);
        let reply = self.route.call(&self.request, &self.caller).await?;
        let mut dropped = std::mem::take(&mut self.dropped);
        dropped.extend(reply.dropped);
        let provider = reply.provider.clone();
        self.step(Step::Turn(Turn {
            number: self.budget.turns() + 1,
            provider: reply.provider,
            model: reply.model,
            price: reply.price,
            dropped,
        }))
        .await;
        let notes = Notes {
            store: self.engine.store(),
            tenant: &self.tenant,
            provider: native::keeper(&self.route, &provider),
        };
        let (toolbox, names) = (&self.toolbox, &self.names);
        let heard = listen(reply.answer, toolbox, names, &notes, &mut self.teller).await;
        let mut spoken = heard.map_err(|error| RunError::Broken(Box::new(error)))?;
        let usage = &spoken.response.usage;
        self.budget.took_turn(usage);
        self.log.spent(usage);
        let used = self.log.usage().clone();
        self.teller.send(RunEvent::Used(used)).await;
        self.follow_container(spoken.response.container.take());
        keep_own(&mut self.own_answer, &spoken.response.rest);
        let said = std::mem::take(&mut spoken.response.content);
        self.note_native(&said, &provider);
        self.request
            .messages
            .push(Message::new(Role::Assistant, said));
        if !spoken.ours.is_empty() {
            self.request.tool_choice = offer::freed(self.request.tool_choice.take());
        }
        Ok(spoken)
    }

    /// The next turn goes on in the upstream's container, if it has one.
    fn follow_container(&mut self, container: Option<Value>) {
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
    fn note_native(&mut self, said: &[Block], provider: &str) {
        for block in said {
            self.called |= matches!(block.content, Content::ServerToolUse { .. });
            self.upstream_files
                .extend(native::files(&block.content, provider));
        }
    }

    /// A conversation that was paused goes on with the calls it ended in.
    async fn answer_open_calls(&mut self) {
        let open = std::mem::take(&mut self.open);
        if open.is_empty() {
            return;
        }
        let (id, model) = (self.log.id.clone(), self.request.model.clone());
        self.teller
            .begin(id, model, Usage::default(), Map::new())
            .await;
        self.dispatch(open).await;
    }

    /// Makes calls, tells the client of them and the model of their results.
    async fn dispatch(&mut self, calls: Vec<Call>) {
        self.called = true;
        for Call {
            id, name, input, ..
        } in &calls
        {
            let (id, name, input) = (id.clone(), name.clone(), input.clone());
            self.step(Step::ToolStarted { id, name, input }).await;
        }
        let (left, ping) = (self.budget.time_left(), self.engine.settings().ping);
        let done = dispatch::call_all(&self.toolbox, calls, left, &self.teller, ping).await;
        self.settle(done).await;
    }

    /// Tells of calls that have ended: those the client does not know yet, then all
    /// results, in the order of the calls.
    async fn settle(&mut self, done: Vec<Done>) {
        for Done { call, outcome, .. } in done.iter().filter(|done| !done.call.told) {
            let input = offer::told_as(call, outcome.native.input());
            self.teller
                .call(&call.id, outcome.native.tool(), &input)
                .await;
        }
        let mut results = Vec::with_capacity(done.len());
        for done in done {
            results.push(self.tell_result(done).await);
        }
        results::add(&mut self.request.messages, results);
    }

    async fn tell_result(&mut self, done: Done) -> Block {
        let Done {
            call,
            outcome,
            took,
        } = done;
        let keeper = self.toolbox.workspace().map(|workspace| Keeper {
            store: self.engine.store(),
            tenant: &self.tenant,
            workspace,
            time: self.engine.settings().keep_files,
        });
        let collected = match keeper {
            Some(keeper) => self.collection.collect(keeper, &outcome.outputs).await,
            None => Default::default(),
        };
        if outcome.native.tool() == "bash_code_execution" {
            self.budget.took_sandbox(took);
        }
        self.log.called(outcome.skill.as_deref());
        self.step(Step::ToolEnded {
            id: call.id.clone(),
            name: call.name.clone(),
            is_error: outcome.is_error,
            shown: outcome.shown_text(),
            millis: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        })
        .await;
        for name in outcome.loaded.clone() {
            self.step(Step::SkillLoaded { name }).await;
        }
        let mut content = dispatch::native_content(&outcome.native, &collected.ids);
        for made in collected.new {
            let session = self.session_id().unwrap_or_default();
            if self.teller.client == Client::Gemini {
                tell::name_file(&mut content, &session, &made);
            }
            self.teller.made(&session, made.clone());
            self.step(Step::FileMade(made)).await;
        }
        let result = dispatch::result_block(&call.id, &outcome, &collected.problems);
        let (tool, input) = self.names.told(&call).unwrap_or_else(|| {
            let native = outcome.native.input();
            (outcome.native.tool(), offer::told_as(&call, native))
        });
        let told = Told {
            client: self.teller.client,
            call: &call,
            tool,
            input: &input,
            content: &content,
            result: &result,
        };
        let members = self.chosen.iter().map(|chosen| chosen.member.clone());
        let members: Vec<_> = members.collect();
        self.unsaid.extend(told.unsaid(&members, &self.names));
        self.teller.result(&call.id, tool, content).await;
        result
    }

    /// Ends before the model does. Messages clients may send the open calls on; others
    /// are told that nothing came of them.
    async fn pause(&mut self, ours: Vec<Call>, limit: Limit) -> End {
        self.step(Step::LimitMet(limit)).await;
        if self.teller.client == Client::Messages {
            for call in ours.iter().filter(|call| !call.told) {
                let command = json!({"command": format!("{} {}", call.name, call.input)});
                let input = offer::told_as(call, command);
                self.teller
                    .call(&call.id, "bash_code_execution", &input)
                    .await;
            }
        } else {
            self.leave(ours, PAUSED).await;
        }
        End {
            reason: Some(StopReason::PauseTurn),
            sequence: None,
            details: None,
        }
    }

    /// Says of calls that they were not made.
    async fn leave(&mut self, calls: Vec<Call>, why: &str) {
        let done = calls.into_iter().map(|call| Done {
            outcome: dispatch::not_run(&call, why, ErrorCode::Unavailable),
            took: std::time::Duration::ZERO,
            call,
        });
        self.settle(done.collect()).await;
    }

    /// The client is to answer calls of its own tools. What its dialect cannot carry of
    /// this run is kept until then.
    async fn hand_over(&mut self, theirs: &[String]) {
        if theirs.is_empty() || !self.called || !hidden::is_kept(self.teller.client) {
            return;
        }
        let turns = self
            .request
            .messages
            .get(self.began_at..)
            .unwrap_or_default();
        let time = self.engine.settings().keep_turns;
        let kept = hidden::keep(self.engine.store(), &self.tenant, theirs, turns, time).await;
        if let Err(error) = kept {
            tracing::warn!(%error, run = self.log.id, "the turns of a run cannot be kept");
        }
    }

    /// Keeps what the client is not told, until it goes on with the conversation. If
    /// that fails the model will read what the client was told instead.
    async fn keep_unsaid(&mut self) {
        let (store, time) = (self.engine.store(), self.engine.settings().keep_turns);
        let unsaid = std::mem::take(&mut self.unsaid);
        if let Err(error) = seen::keep(store, &self.tenant, &unsaid, time).await {
            tracing::warn!(%error, run = self.log.id, "results of a run cannot be kept");
        }
    }

    async fn end(&mut self, end: End) {
        self.keep_unsaid().await;
        let container = self.container().await;
        let status = match &end.reason {
            Some(StopReason::PauseTurn) => "paused",
            Some(StopReason::Refusal) => "refused",
            _ => "completed",
        };
        self.log.ended(status, None);
        self.log.session(self.session_id());
        let mut rest = match self.engine.settings().litellm {
            true => {
                let made = &self.collection.made;
                litellm::generated_files(self.toolbox.workspace(), made).await
            }
            false => Map::new(),
        };
        rest.extend(std::mem::take(&mut self.own_answer));
        let delta = StreamEvent::MessageDelta {
            stop_reason: end.reason,
            stop_sequence: end.sequence,
            stop_details: end.details,
            container,
            usage: self.log.usage().clone(),
            rest,
        };
        self.teller.tell(delta).await;
        self.teller.tell(StreamEvent::MessageStop).await;
    }

    /// The container the client may name again: our session, if anything ran, else the
    /// upstream's own.
    async fn container(&mut self) -> Option<Value> {
        let upstream = self.upstream_container.take();
        let (Some(id), Some(workspace)) = (self.session_id(), self.toolbox.workspace()) else {
            if self.teller.client != Client::Messages {
                let store = self.engine.store();
                session::remember_upstream(store, &self.tenant, upstream.as_ref()).await;
            }
            return self.with_files(upstream);
        };
        let field = |key: &str| upstream.as_ref().and_then(|container| container.get(key));
        let native = field("skills").and_then(Value::as_array).cloned();
        let upstream = field("id").and_then(Value::as_str).map(str::to_owned);
        let used = Used {
            client: self.teller.client,
            id: &id,
            upstream: upstream.or_else(|| self.session.upstream.clone()),
            pins: self.pins(),
            native: native.unwrap_or_else(|| native_skills(&self.request)),
            files: &self.collection.made,
        };
        let (store, sandbox) = (self.engine.store(), workspace.sandbox());
        let container = Session::container(store, sandbox, &self.tenant, used).await;
        self.with_files(Some(container))
    }

    /// Names the upstream's files where ours are named, for clients whose dialect has no
    /// other place for them.
    fn with_files(&self, container: Option<Value>) -> Option<Value> {
        let mut container = container?;
        if self.teller.client != Client::Messages
            && let Some(map) = container.as_object_mut()
            && let Value::Array(files) = map.entry("files").or_insert_with(|| json!([]))
        {
            files.extend(self.upstream_files.iter().cloned());
        }
        Some(container)
    }

    fn pins(&self) -> Vec<Pin> {
        let pins = self.chosen.iter().filter_map(|chosen| chosen.pin.clone());
        pins.collect()
    }

    fn session_id(&self) -> Option<String> {
        self.toolbox.workspace()?.session()
    }

    async fn step(&mut self, step: Step) {
        self.log.step(&step);
        self.teller.step(step).await;
    }
}

/// Whether the model was stopped, so that its last call may not be whole.
fn is_cut_short(reason: Option<&StopReason>) -> bool {
    matches!(
        reason,
        Some(StopReason::MaxTokens | StopReason::ContextWindow | StopReason::Refusal)
    )
}
