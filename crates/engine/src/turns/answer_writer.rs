//! Writes the one response of a run as it comes: one start, dense indexes, one end.

use prowess_wire::neutral::{Block, Content, Delta, Map, StreamEvent, TokenUsage};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::client_features::ClientFeatures;
use crate::events::{OutputFile, RunEvent, RunStep};
use crate::history::citations;
use crate::ids;

/// Writes the response.
#[derive(Debug)]
pub(crate) struct AnswerWriter {
    pub(crate) features: ClientFeatures,
    events: mpsc::Sender<RunEvent>,
    /// The index of the next block.
    next_index: usize,
    started: bool,
    /// Whether any text was written.
    pub(crate) has_text: bool,
    /// Files that no text has cited yet, after the ids of their containers.
    uncited_files: Vec<(String, OutputFile)>,
}

impl AnswerWriter {
    pub(crate) fn new(features: ClientFeatures, events: mpsc::Sender<RunEvent>) -> Self {
        AnswerWriter {
            features,
            events,
            next_index: 0,
            started: false,
            has_text: false,
            uncited_files: Vec::new(),
        }
    }

    /// Sends an event of the response unchanged.
    pub(crate) async fn write(&self, event: StreamEvent) {
        self.send(RunEvent::Response(event)).await;
    }

    pub(crate) async fn write_step(&self, step: RunStep) {
        self.send(RunEvent::Step(step)).await;
    }

    pub(crate) async fn send(&self, event: RunEvent) {
        // The receiver is polled by the same task, and dropped together with this.
        let _ = self.events.send(event).await;
    }

    /// Starts the response, unless it has started.
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

    /// Starts a block and returns its index.
    pub(crate) async fn start_block(&mut self, mut block: Block) -> usize {
        let index = self.next_index;
        self.next_index += 1;
        self.add_citations(&mut block);
        self.write(StreamEvent::BlockStart { index, block }).await;
        index
    }

    /// Writes a call of one of Prowess's tools, as a server tool call.
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

    /// Writes the result of a server tool call.
    pub(crate) async fn write_result(&mut self, id: &str, tool: &str, content: Value) {
        let block = Block::new(Content::ServerToolResult {
            kind: format!("{tool}_tool_result"),
            tool_use_id: id.to_owned(),
            content,
        });
        let index = self.start_block(block).await;
        self.write(StreamEvent::BlockStop { index }).await;
    }

    /// Keeps a file for the next text to cite.
    pub(crate) fn add_output_file(&mut self, container_id: &str, file: OutputFile) {
        if self.features.cites_files {
            self.uncited_files
                .push((ids::openai_container_id(container_id), file));
        }
    }

    /// Adds citations of the files that no text has cited yet.
    fn add_citations(&mut self, block: &mut Block) {
        if !self.uncited_files.is_empty() && matches!(block.content, Content::Text(_)) {
            citations::add_citations(block, std::mem::take(&mut self.uncited_files));
        }
    }
}
