//! A model that follows a plan: it calls tools one after another, whatever prefix a program
//! gives their names, and answers once their results are there. It speaks every vendor's API
//! and keeps what it was sent.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::vendors::upstream_request::UpstreamRequest;
use crate::vendors::vendor::Vendor;

/// What it answers when a request offers no tool of the plan, as requests for titles do.
pub(crate) const SMALL_TALK: &str = "Fine.";

/// A program that does not show a tool it should would be called forever.
const MAX_CALLS: usize = 12;

/// How many ids were given.
static COUNT: AtomicUsize = AtomicUsize::new(1);

/// A call of a tool, done once a result holds the text.
pub(crate) struct PlannedCall {
    pub(crate) tool: &'static str,
    pub(crate) input: Value,
    pub(crate) result: &'static str,
}

/// Calls, and the answer after them.
pub(crate) struct ModelPlan {
    pub(crate) steps: Vec<PlannedCall>,
    pub(crate) answer: String,
}

impl ModelPlan {
    /// No tools.
    pub(crate) fn answer_only(answer: &str) -> ModelPlan {
        ModelPlan {
            steps: Vec::new(),
            answer: answer.to_owned(),
        }
    }

    /// Text and calls of the next turn.
    fn turn(&self, sent: &UpstreamRequest) -> (String, Vec<(String, Value)>) {
        let has = |step: &PlannedCall| sent.results.iter().any(|(_, r)| r.contains(step.result));
        if let Some(answer) = recalled(sent) {
            return (answer, Vec::new());
        }
        let Some(at) = self.steps.iter().position(|step| !has(step)) else {
            return (self.answer.clone(), Vec::new());
        };
        if sent.calls.len() >= MAX_CALLS {
            return ("This leads nowhere.".to_owned(), Vec::new());
        }
        // A program may be slow to show the tools of a skill that it has just loaded:
        // loading it again gives it time.
        let next = call(&self.steps[at], sent);
        let again = || call(&self.steps[at.checked_sub(1)?], sent);
        match next.or_else(again) {
            Some(call) => ("I look.".to_owned(), vec![call]),
            None => (SMALL_TALK.to_owned(), Vec::new()),
        }
    }
}

/// The call of a step, if its tool is offered, or the search for it, if tools are searched.
fn call(step: &PlannedCall, sent: &UpstreamRequest) -> Option<(String, Value)> {
    if let Some(name) = sent.tools.iter().find(|name| name.ends_with(step.tool)) {
        return Some((name.clone(), step.input.clone()));
    }
    let search = sent.tools.iter().find(|name| *name == "ToolSearch")?;
    let query = format!("select:mcp__skills__{}", step.tool);
    Some((search.clone(), json!({"query": query, "max_results": 3})))
}

/// The word that an earlier turn of the conversation gave, if it is asked for.
fn recalled(sent: &UpstreamRequest) -> Option<String> {
    let body = sent.body.to_string();
    let both = body.contains("Which word was it?") && body.contains("juniper");
    both.then(|| "The word was juniper.".to_owned())
}

/// One request, in its vendor's own shape.
pub(crate) struct RecordedTurn {
    pub(crate) vendor: Vendor,
    pub(crate) streamed: bool,
    pub(crate) sent: UpstreamRequest,
}

/// The model. It stops when dropped.
pub(crate) struct ScriptedModel {
    upstream: MockUpstream,
    turns: Arc<Mutex<Vec<RecordedTurn>>>,
    _runtime: Runtime,
}

impl ScriptedModel {
    pub(crate) fn start(plan: ModelPlan) -> ScriptedModel {
        let runtime = Runtime::new().unwrap();
        let upstream = runtime.block_on(MockUpstream::start());
        let turns: Arc<Mutex<Vec<RecordedTurn>>> = Arc::default();
        let kept = Arc::clone(&turns);
        upstream.respond_with(move |request| answer(&plan, request, &kept));
        ScriptedModel {
            upstream,
            turns,
            _runtime: runtime,
        }
    }

    pub(crate) fn url(&self) -> &str {
        self.upstream.url()
    }

    /// The requests since the last time, but for those without tools and without results,
    /// which programs make for titles and the like.
    pub(crate) fn turns(&self) -> Vec<RecordedTurn> {
        let mut turns = std::mem::take(&mut *self.turns.lock().unwrap());
        turns.retain(|turn| !turn.sent.tools.is_empty() || !turn.sent.results.is_empty());
        turns
    }

    /// All requests since the last time.
    pub(crate) fn all_turns(&self) -> Vec<RecordedTurn> {
        std::mem::take(&mut *self.turns.lock().unwrap())
    }
}

fn answer(
    plan: &ModelPlan,
    request: &ReceivedRequest,
    turns: &Mutex<Vec<RecordedTurn>>,
) -> MockResponse {
    if request.path.contains(":countTokens") {
        return MockResponse::json(200, r#"{"totalTokens": 30}"#);
    }
    let Some(vendor) = vendor_of(&request.path).filter(|_| request.method == "POST") else {
        return MockResponse::json(404, r#"{"error": {"message": "not here"}}"#);
    };
    let sent = UpstreamRequest::read(vendor, request);
    let streamed = sent.body["stream"] == true || request.path.contains("tream");
    let (text, calls) = plan.turn(&sent);
    // Ids differ from turn to turn and from one conversation to the next.
    let number = COUNT.fetch_add(10, Ordering::Relaxed);
    turns.lock().unwrap().push(RecordedTurn {
        vendor,
        streamed,
        sent,
    });
    let calls: Vec<(&str, Value)> = calls.iter().map(|(n, i)| (n.as_str(), i.clone())).collect();
    vendor.calls_from(number, streamed, &text, &calls)
}

fn vendor_of(path: &str) -> Option<Vendor> {
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    let known = [
        ("/v1/messages", Vendor::Anthropic),
        ("/chat/completions", Vendor::Chat),
        ("/responses", Vendor::Responses),
        (":generateContent", Vendor::Gemini),
        (":streamGenerateContent", Vendor::Gemini),
        ("/converse", Vendor::Converse),
        ("/converse-stream", Vendor::Converse),
    ];
    let found = known.iter().find(|(end, _)| path.ends_with(end));
    found.map(|(_, vendor)| *vendor)
}
