//! What the stream of a server says about its run.
//!
//! It is a response of Anthropic's Messages API, in which the calls of tools are those of
//! native code execution; a call of a skill's own tool carries the original one. Turns are
//! not marked: one begins where the model goes on after results.

use prowess_client::RemoteFile;
use prowess_wire::Dialect;
use prowess_wire::neutral::{
    ApiError, Block, Content, Delta, Response, ResponseCollector, StreamEvent,
};
use serde_json::{Value, json};

use super::event_json;
use crate::failure::PyFailure;

/// How much of a call's input is collected.
const MAX_INPUT_BYTES: usize = 16 << 20;

/// What an event of the stream says.
pub(super) enum RunNews {
    /// An event for the program.
    Event(Value),
    /// A file was created; the stream has only its id.
    File(String),
    /// The response is complete.
    Ended,
}

/// Follows the stream of a run.
pub(super) struct RemoteProgress {
    run: Option<String>,
    model: String,
    turn: u32,
    /// Whether the last block was a result.
    after_result: bool,
    /// The call whose input is being received.
    open_call: Option<OpenCall>,
    /// Calls without a result, by id.
    calls: Vec<(String, String)>,
    files: Vec<Value>,
    /// None when the response was taken out of it.
    collector: Option<ResponseCollector>,
}

struct OpenCall {
    id: String,
    name: String,
    input: Value,
    /// The input, if it comes in parts.
    json: String,
}

impl RemoteProgress {
    pub(super) fn new(run: Option<String>) -> Self {
        RemoteProgress {
            run,
            model: String::new(),
            turn: 0,
            after_result: false,
            open_call: None,
            calls: Vec::new(),
            files: Vec::new(),
            collector: Some(ResponseCollector::new(Dialect::Messages)),
        }
    }

    /// Takes an event of the stream.
    pub(super) fn push(&mut self, event: StreamEvent) -> Result<Vec<RunNews>, PyFailure> {
        if let Some(collector) = &mut self.collector {
            collector.push(event.clone()).map_err(failed)?;
        }
        let mut news = Vec::new();
        match event {
            StreamEvent::MessageStart { model, .. } => {
                self.model = model;
                news.push(self.next_turn());
            }
            StreamEvent::BlockStart { block, .. } => self.start_block(block, &mut news),
            StreamEvent::BlockDelta { delta, .. } => self.extend_block(delta, &mut news),
            StreamEvent::BlockStop { .. } => news.extend(self.end_call()),
            StreamEvent::MessageStop => news.push(RunNews::Ended),
            _ => {}
        }
        Ok(news)
    }

    /// Adds a file that was created, and returns its event. A file that is written again
    /// replaces its earlier version.
    pub(super) fn add_file(&mut self, file: &RemoteFile) -> Value {
        let made = json!({
            "file_id": file.id,
            "filename": file.filename,
            "mime_type": null,
            "size_bytes": file.bytes,
        });
        self.files
            .retain(|other| other.get("filename") != made.get("filename"));
        self.files.push(made.clone());
        json!({"type": "file_made", "file": made})
    }

    /// The last event, with the result.
    pub(super) fn ended(&mut self) -> Result<Value, PyFailure> {
        let response = match self.collector.take() {
            Some(collector) => collector.finish().map_err(failed)?,
            None => Response::new(Dialect::Messages, "", ""),
        };
        let run = self.run.as_deref();
        Ok(event_json::ended(run, &response, &self.files))
    }

    fn next_turn(&mut self) -> RunNews {
        self.turn += 1;
        self.after_result = false;
        RunNews::Event(json!({"type": "turn", "number": self.turn, "model": self.model}))
    }

    fn start_block(&mut self, block: Block, news: &mut Vec<RunNews>) {
        if let Content::ServerToolResult {
            tool_use_id,
            content,
            ..
        } = block.content
        {
            self.after_result = true;
            return self.end_tool(&tool_use_id, &content, news);
        }
        if self.after_result {
            news.push(self.next_turn());
        }
        match block.content {
            Content::Text(text) if !text.is_empty() => {
                news.push(RunNews::Event(event_json::text(&text)));
            }
            Content::ServerToolUse { id, name, input } => {
                self.open_call = Some(OpenCall {
                    id,
                    name,
                    input,
                    json: String::new(),
                });
            }
            _ => {}
        }
    }

    fn extend_block(&mut self, delta: Delta, news: &mut Vec<RunNews>) {
        match (delta, &mut self.open_call) {
            (Delta::Text(text), _) => news.push(RunNews::Event(event_json::text(&text))),
            (Delta::Thinking(text), _) => news.push(RunNews::Event(event_json::thinking(&text))),
            (Delta::InputJson(part), Some(call))
                if call.json.len() + part.len() <= MAX_INPUT_BYTES =>
            {
                call.json.push_str(&part);
            }
            _ => {}
        }
    }

    /// The call whose input is complete.
    fn end_call(&mut self) -> Option<RunNews> {
        let call = self.open_call.take()?;
        let input = serde_json::from_str(&call.json).unwrap_or(call.input);
        let original = (input.get("tool"), input.get("arguments"));
        let (name, input) = match original {
            (Some(Value::String(tool)), Some(arguments)) => (tool.clone(), arguments.clone()),
            _ => (call.name, input),
        };
        self.calls.push((call.id.clone(), name.clone()));
        let started = json!({
            "type": "tool_started", "id": call.id, "name": name, "input": input,
        });
        Some(RunNews::Event(started))
    }

    fn end_tool(&mut self, id: &str, content: &Value, news: &mut Vec<RunNews>) {
        let place = self.calls.iter().position(|(call, _)| call == id);
        let name = place.map(|place| self.calls.swap_remove(place).1);
        news.push(RunNews::Event(json!({
            "type": "tool_ended",
            "id": id,
            "name": name.unwrap_or_default(),
            "is_error": is_error(content),
            "shown": result_text(content),
        })));
        let files = content.get("content").and_then(Value::as_array);
        let ids = files
            .into_iter()
            .flatten()
            .filter_map(|file| file.get("file_id")?.as_str());
        news.extend(ids.map(|id| RunNews::File(id.to_owned())));
    }
}

/// Whether the result of a call is a failure.
fn is_error(content: &Value) -> bool {
    let kind = content.get("type").and_then(Value::as_str);
    let code = content.get("return_code").and_then(Value::as_i64);
    kind.is_some_and(|kind| kind.ends_with("_error")) || code.is_some_and(|code| code != 0)
}

/// The text of a result: its output, a file's content or an error.
fn result_text(content: &Value) -> String {
    let text = |field: &str| content.get(field).and_then(Value::as_str);
    let output = [text("stdout"), text("stderr")];
    if output.iter().any(Option::is_some) {
        return output.into_iter().flatten().collect();
    }
    let other = text("content")
        .or(text("error_message"))
        .or(text("error_code"));
    other.unwrap_or_default().to_owned()
}

fn failed(error: ApiError) -> PyFailure {
    let code = error.code.as_deref().unwrap_or("run-failed");
    let request = error.request_id.as_deref();
    PyFailure::run(code, error.message.clone(), Some(error.status), request)
}
