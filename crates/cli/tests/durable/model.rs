//! A model that answers by what the request contains, so that a repeated call gets the same
//! turn, and counts its calls. It speaks Anthropic's dialect.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};
use serde_json::{Value, json};

/// The words of a prompt by which the model knows what to do.
pub(crate) mod prompts {
    /// Three turns, the first two with commands that write files.
    pub(crate) const WRITE: &str = "write the log";
    /// A command that lists all files.
    pub(crate) const INSPECT: &str = "inspect the files";
    /// A command that takes two seconds; the word after it is its argument.
    pub(crate) const LINGER: &str = "linger for";
    /// Three commands that append a letter each; the word after it is the letter.
    pub(crate) const APPEND: &str = "append letter";
    /// A command in each turn; the word after it has them in hexadecimal, with dots between.
    pub(crate) const SCRIPT: &str = "follow the script";
}

/// The command of a turn of a script.
fn scripted_command(script: &str, turn: usize) -> Option<String> {
    let hex = script.split('.').nth(turn - 1)?;
    let pairs = hex.as_bytes().chunks(2);
    let bytes = pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16));
    let bytes: Vec<u8> = bytes.map(Result::unwrap).collect();
    Some(String::from_utf8(bytes).unwrap())
}

/// Shows names, kinds, modes, links and the log.
const LIST_FILES: &str =
    "find . -mindepth 1 -printf '%P %y %m %l\\n' | LC_ALL=C sort; echo; cat log.txt; echo end";

/// The model.
pub(crate) struct CountingModel {
    upstream: MockUpstream,
    state: Arc<Mutex<ModelState>>,
}

#[derive(Default)]
struct ModelState {
    /// The prompts of all calls.
    calls: Vec<String>,
    /// All of them.
    requests: Vec<Value>,
    /// The last tool result of each call.
    results: Vec<String>,
    /// The turn whose first call stops in the middle of its text.
    hangs_in: Option<usize>,
    /// The turn whose calls all fail, and how.
    breaks_in: Option<(usize, Breakage)>,
}

/// How calls fail.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Breakage {
    /// The connection is closed in the middle of the response.
    CutOff,
    /// With status 500.
    ServerError,
}

impl CountingModel {
    pub(crate) async fn start() -> CountingModel {
        let upstream = MockUpstream::start().await;
        let state = Arc::new(Mutex::new(ModelState::default()));
        let shared = Arc::clone(&state);
        upstream.respond_with(move |request| respond(&mut shared.lock().unwrap(), request));
        CountingModel { upstream, state }
    }

    pub(crate) fn url(&self) -> &str {
        self.upstream.url()
    }

    /// Makes the first call of a turn stop in the middle of its text.
    pub(crate) fn hang_in(&self, turn: usize) {
        self.state.lock().unwrap().hangs_in = Some(turn);
    }

    /// Makes all calls of a turn fail.
    pub(crate) fn break_in(&self, turn: usize, how: Breakage) {
        self.state.lock().unwrap().breaks_in = Some((turn, how));
    }

    /// How often it was called with this prompt.
    pub(crate) fn calls(&self, prompt: &str) -> usize {
        let state = self.state.lock().unwrap();
        let calls = state.calls.iter();
        calls.filter(|call| call.contains(prompt)).count()
    }

    /// All that it was sent.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.state.lock().unwrap().requests.clone()
    }

    /// The different tool results that it was sent.
    pub(crate) fn results(&self) -> BTreeSet<String> {
        let state = self.state.lock().unwrap();
        state.results.iter().cloned().collect()
    }

    /// The last tool result that it was sent.
    pub(crate) fn last_result(&self) -> String {
        let state = self.state.lock().unwrap();
        state.results.last().cloned().unwrap_or_default()
    }
}

/// One turn: its text and the command that it calls.
struct ModelTurn {
    text: String,
    command: Option<String>,
}

fn respond(state: &mut ModelState, request: &ReceivedRequest) -> MockResponse {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    // The last one that a person wrote: a container may be used by several requests.
    let prompt = messages.iter().rev().find_map(|message| {
        let text = message["content"].to_string();
        (message["role"] == "user" && !text.contains("\"tool_result\"")).then_some(text)
    });
    let prompt = prompt.unwrap();
    let blocks = messages
        .iter()
        .filter_map(|message| message["content"].as_array());
    let results = blocks
        .flatten()
        .filter(|block| block["type"] == "tool_result");
    let results: Vec<&Value> = results.collect();
    let turn = results.len() + 1;
    state.calls.push(prompt.clone());
    state.requests.push(body.clone());
    if let Some(result) = results.last() {
        let content = &result["content"];
        let text = content.as_str().or(content[0]["text"].as_str());
        state.results.push(text.unwrap().to_owned());
    }
    let answer = next_turn(&prompt, turn);
    if let Some((broken, how)) = state.breaks_in
        && broken == turn
    {
        return broken_turn(&body, turn, &answer, how);
    }
    if body["stream"] != true {
        return whole_turn(&body, turn, &answer);
    }
    let events = turn_events(&body, turn, &answer);
    if state.hangs_in == Some(turn) {
        state.hangs_in = None;
        // The start, the start of the text, and two parts of it.
        return stream(events.get(..4).unwrap()).then_hang();
    }
    stream(&events)
}

/// A turn that fails.
fn broken_turn(request: &Value, turn: usize, answer: &ModelTurn, how: Breakage) -> MockResponse {
    let error = json!({"type": "error", "error": {"type": "api_error", "message": "out of order"}});
    match how {
        Breakage::ServerError => MockResponse::json(500, &error.to_string()),
        Breakage::CutOff if request["stream"] == true => {
            let events = turn_events(request, turn, answer);
            stream(events.get(..4).unwrap()).cut_off()
        }
        Breakage::CutOff => MockResponse::json(200, "{\"id\": \"msg_").cut_off(),
    }
}

fn next_turn(prompt: &str, turn: usize) -> ModelTurn {
    let word_after = |words: &str| {
        let (_, rest) = prompt.split_once(words)?;
        let end = rest
            .trim_start()
            .split(|c: char| c != '.' && !c.is_alphanumeric());
        end.map(str::to_owned).next()
    };
    // It names the folder of the skill, so that it is a use of it.
    let second = "echo two >> log.txt; mkdir -p d; ln -s log.txt l; rm -f gone; ls /skills/logs";
    let command = if prompt.contains(prompts::WRITE) {
        match turn {
            1 => Some("echo one >> log.txt; touch gone".to_owned()),
            2 => Some(second.to_owned()),
            _ => None,
        }
    } else if prompt.contains(prompts::INSPECT) {
        (turn == 1).then(|| LIST_FILES.to_owned())
    } else if let Some(seconds) = word_after(prompts::LINGER) {
        (turn == 1).then(|| format!("echo one >> log.txt; sleep {seconds}"))
    } else if let Some(letter) = word_after(prompts::APPEND) {
        (turn <= 3).then(|| format!("echo {letter}{turn} >> log.txt"))
    } else if let Some(script) = word_after(prompts::SCRIPT) {
        scripted_command(&script, turn)
    } else {
        None
    };
    let text = match &command {
        Some(_) => format!("Now comes command {turn} of the plan."),
        None => "All of it is done.".to_owned(),
    };
    ModelTurn { text, command }
}

/// The events of a turn in Anthropic's stream, the text in several parts.
fn turn_events(request: &Value, turn: usize, answer: &ModelTurn) -> Vec<Value> {
    let message = json!({"id": format!("msg_{turn}"), "type": "message", "role": "assistant",
        "model": "m", "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 10 * turn, "output_tokens": 1}});
    let mut events = vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "text", "text": ""}}),
    ];
    for word in answer.text.split_inclusive(' ') {
        let delta = json!({"type": "text_delta", "text": word});
        events.push(json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    }
    events.push(json!({"type": "content_block_stop", "index": 0}));
    let mut reason = "end_turn";
    if let Some(command) = &answer.command {
        reason = "tool_use";
        let block = call_block(request, turn, json!({}));
        events.push(json!({"type": "content_block_start", "index": 1, "content_block": block}));
        let input = json!({"command": command}).to_string();
        let (first, second) = input.split_at(8);
        for part in [first, second] {
            let delta = json!({"type": "input_json_delta", "partial_json": part});
            events.push(json!({"type": "content_block_delta", "index": 1, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": 1}));
    }
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    let usage = json!({"output_tokens": 5 + turn});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events
}

/// The same turn as one message.
fn whole_turn(request: &Value, turn: usize, answer: &ModelTurn) -> MockResponse {
    let mut content = vec![json!({"type": "text", "text": answer.text})];
    if let Some(command) = &answer.command {
        content.push(call_block(request, turn, json!({"command": command})));
    }
    let reason = if answer.command.is_some() {
        "tool_use"
    } else {
        "end_turn"
    };
    let message = json!({"id": format!("msg_{turn}"), "type": "message", "role": "assistant",
        "model": "m", "content": content, "stop_reason": reason, "stop_sequence": null,
        "usage": {"input_tokens": 10 * turn, "output_tokens": 5 + turn}});
    MockResponse::json(200, &message.to_string())
}

/// A call of the tool that runs commands, whatever it is named in the request.
fn call_block(request: &Value, turn: usize, input: Value) -> Value {
    let tools = request["tools"].as_array().unwrap();
    let mut names = tools.iter().filter_map(|tool| tool["name"].as_str());
    let name = names.find(|name| name.contains("bash")).unwrap();
    json!({"type": "tool_use", "id": format!("toolu_{turn}"), "name": name, "input": input})
}

fn stream(events: &[Value]) -> MockResponse {
    let text = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap();
        format!("event: {name}\ndata: {event}\n\n")
    });
    MockResponse::sse(&text.collect::<String>())
}
