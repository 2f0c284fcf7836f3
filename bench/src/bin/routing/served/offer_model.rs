//! A model in the Chat dialect that takes the right skill if it is offered, and remembers what
//! it was sent.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What it says at the end.
pub(super) const ANSWER: &str = "That was all.";

/// A running model; it ends with the runtime.
#[derive(Clone)]
pub(super) struct OfferModel {
    address: SocketAddr,
    state: SharedState,
}

type SharedState = Arc<Mutex<ModelState>>;

#[derive(Default)]
struct ModelState {
    /// Names of skills that fit the current request.
    fitting: HashSet<String>,
    requests: Vec<Value>,
}

impl OfferModel {
    pub(super) async fn start() -> Result<OfferModel> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let state = SharedState::default();
        let model = OfferModel {
            address: listener.local_addr()?,
            state: Arc::clone(&state),
        };
        let app = Router::new()
            .route("/v1/chat/completions", post(answer))
            .with_state(state);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(model)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says which skills fit what it is asked next.
    pub(super) fn expect(&self, fitting: HashSet<String>) {
        let mut state = lock(&self.state);
        state.fitting = fitting;
        state.requests.clear();
    }

    /// What it was sent since.
    pub(super) fn requests(&self) -> Vec<Value> {
        lock(&self.state).requests.clone()
    }
}

fn lock(state: &SharedState) -> MutexGuard<'_, ModelState> {
    // It guards single assignments.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(State(state): State<SharedState>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let fitting = {
        let mut state = lock(&state);
        state.requests.push(request.clone());
        offered(&request).find(|name| state.fitting.contains(name))
    };
    let messages = request.get("messages").and_then(Value::as_array);
    let last = messages.and_then(|messages| messages.last());
    let is_question = last.and_then(|last| last.get("role")) == Some(&json!("user"));
    let call = fitting.filter(|_| is_question);
    let stream = request.get("stream") == Some(&Value::Bool(true));
    match stream {
        true => ([(CONTENT_TYPE, "text/event-stream")], events(call)).into_response(),
        false => axum::Json(whole(call)).into_response(),
    }
}

/// The names of all skills that a request offers, in order.
pub(super) fn offered(request: &Value) -> impl Iterator<Item = String> {
    let mut names = Vec::new();
    let messages = request.get("messages").and_then(Value::as_array);
    for message in messages.into_iter().flatten() {
        let role = message.get("role").and_then(Value::as_str);
        if matches!(role, Some("system" | "user")) {
            each_text(message.get("content"), &mut |text| {
                let lines = text.lines().filter_map(|line| line.strip_prefix("- "));
                let name = |line: &str| line.split(": ").next().map(str::to_owned);
                names.extend(lines.filter_map(name));
            });
        }
    }
    names.into_iter()
}

/// The texts of a message's content.
pub(super) fn each_text(content: Option<&Value>, accept: &mut impl FnMut(&str)) {
    match content {
        Some(Value::String(text)) => accept(text),
        Some(Value::Array(parts)) => {
            for text in parts.iter().filter_map(|part| part.get("text")?.as_str()) {
                accept(text);
            }
        }
        _ => {}
    }
}

fn message(call: Option<String>) -> (Value, &'static str) {
    match call {
        Some(name) => {
            let arguments = json!({ "name": name }).to_string();
            let function = json!({"name": "load_skill", "arguments": arguments});
            let call =
                json!({"index": 0, "id": "call_1", "type": "function", "function": function});
            let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            (message, "tool_calls")
        }
        None => (json!({"role": "assistant", "content": ANSWER}), "stop"),
    }
}

fn whole(call: Option<String>) -> Value {
    let (message, reason) = message(call);
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    })
}

fn events(call: Option<String>) -> String {
    let (delta, reason) = message(call);
    let chunk = |delta: Value, reason: Value| {
        json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        })
    };
    let chunks = [chunk(delta, Value::Null), chunk(json!({}), json!(reason))];
    let events = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    events.collect::<String>() + "data: [DONE]\n\n"
}
