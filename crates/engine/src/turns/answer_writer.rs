//! The one answer of a run, told as it comes: one start, dense indexes, one end.

use prowess_wire::ClientDialect;
use prowess_wire::neutral::{Block, Content, Delta, Map, StreamEvent, TokenUsage};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::events::{OutputFile, RunEvent, RunStep};
use crate::ids;

/// How Responses points from a text to a file.
const CITATION: &str = "container_file_citation";

/// Tells the answer.
#[derive(Debug)]
pub(crate) struct AnswerWriter {
    pub(crate) client: ClientDialect,
    events: mpsc::Sender<RunEvent>,
    /// The index of the next block.
    next_index: usize,
    started: bool,
    /// Whether any text was told.
    pub(crate) has_text: bool,
    /// Files that no text has pointed to yet, and their session.
    uncited_files: Vec<(String, OutputFile)>,
}

impl AnswerWriter {
    pub(crate) fn new(client: ClientDialect, events: mpsc::Sender<RunEvent>) -> Self {
        AnswerWriter {
            client,
            events,
            next_index: 0,
            started: false,
            has_text: false,
            uncited_files: Vec::new(),
        }
    }

    /// Tells an event of the answer as it is.
    pub(crate) async fn write(&self, event: StreamEvent) {
        self.send(RunEvent::Response(event)).await;
    }

    pub(crate) async fn write_step(&self, step: RunStep) {
        self.send(RunEvent::Step(step)).await;
    }

    pub(crate) async fn send(&self, event: RunEvent) {
        // The listener is polled together with us, and gone only when we are.
        let _ = self.events.send(event).await;
    }

    /// Begins the answer, unless it has begun.
    pub(crate) async fn start_message(
        &mut self,
        id: String,
        model: String,
        usage: TokenUsage,
        rest: Map,
    ) {
        if !std::mem::replace(&mut self.started, true) {
            self.write(StreamEvent::MessageStart {
                id,
                model,
                usage,
                rest,
            })
            .await;
        }
    }

    /// Begins a block and gives its place.
    pub(crate) async fn start_block(&mut self, mut block: Block) -> usize {
        let index = self.next_index;
        self.next_index += 1;
        self.add_citations(&mut block);
        self.write(StreamEvent::BlockStart { index, block }).await;
        index
    }

    /// Tells a call of ours as one of the server's.
    pub(crate) async fn write_call(&mut self, id: &str, tool: &str, input: &Value) {
        let block = Block::new(Content::ServerToolUse {
            id: id.to_owned(),
            name: tool.to_owned(),
            input: json!({}),
        });
        let index = self.start_block(block).await;
        let delta = Delta::InputJson(input.to_string());
        self.write(StreamEvent::BlockDelta { index, delta }).await;
        self.write(StreamEvent::BlockStop { index }).await;
    }

    /// Tells its result.
    pub(crate) async fn write_result(&mut self, id: &str, tool: &str, content: Value) {
        let block = Block::new(Content::ServerToolResult {
            kind: format!("{tool}_tool_result"),
            tool_use_id: id.to_owned(),
            content,
        });
        let index = self.start_block(block).await;
        self.write(StreamEvent::BlockStop { index }).await;
    }

    /// Notes a file for the next text to point to.
    pub(crate) fn add_output_file(&mut self, session: &str, file: OutputFile) {
        if self.client == ClientDialect::Responses {
            self.uncited_files
                .push((ids::openai_container_id(session), file));
        }
    }

    /// Responses points from texts to files; the other dialects name them elsewhere.
    fn add_citations(&mut self, block: &mut Block) {
        if self.uncited_files.is_empty() || !matches!(block.content, Content::Text(_)) {
            return;
        }
        let files = std::mem::take(&mut self.uncited_files);
        let cited = files.into_iter().map(|(session, file)| {
            json!({
                "type": CITATION,
                "container_id": session,
                "file_id": file.file_id,
                "filename": file.filename,
                "start_index": 0,
                "end_index": 0,
            })
        });
        let cited: Vec<Value> = cited.collect();
        match block.rest.get_mut("annotations") {
            // What the model's own server points to stays.
            Some(Value::Array(known)) => known.extend(cited),
            _ => {
                block.rest.insert("annotations".to_owned(), cited.into());
            }
        }
    }
}

/// Says of a file in a result how it is called, and where it lies: Gemini's clients are told
/// of files one by one.
pub(crate) fn describe_file(content: &mut Value, session: &str, made: &OutputFile) {
    let files = content.get_mut("content").and_then(Value::as_array_mut);
    for file in files.into_iter().flatten().filter_map(Value::as_object_mut) {
        if file.get("file_id").and_then(Value::as_str) == Some(&made.file_id) {
            file.insert("filename".to_owned(), made.filename.clone().into());
            file.insert("mime_type".to_owned(), made.mime_type.clone().into());
            file.insert("container".to_owned(), session.into());
        }
    }
}

/// A block without our pointers to files: the model did not write them. Those of its own
/// servers point from somewhere.
pub(crate) fn strip_citations(mut block: Block) -> Block {
    let ours = |cited: &Value| {
        let end = cited.get("end_index").and_then(Value::as_u64);
        cited.get("type").and_then(Value::as_str) == Some(CITATION) && end == Some(0)
    };
    if let Some(Value::Array(cited)) = block.rest.get_mut("annotations") {
        let before = cited.len();
        cited.retain(|cited| !ours(cited));
        if cited.is_empty() && before > 0 {
            block.rest.shift_remove("annotations");
        }
    }
    block
}
