//! Writes the one response of a run as it comes: one start, dense indexes, one end.

use std::sync::Arc;

use prowess_wire::neutral::{Block, Content, Delta, Map, StreamEvent, TextPlace, TokenUsage};
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::client_features::ClientFeatures;
use crate::events::{OutputFile, RunEvent, RunStep};
use crate::history::citations;
use crate::ids;
use crate::kept::log_event::{LogEvent, LogSummary};
use crate::kept::output::KeptOutput;

/// Where the events of a run go.
#[derive(Debug)]
pub(crate) enum EventSink {
    /// To the reader of its stream.
    Stream(mpsc::Sender<RunEvent>),
    /// Into the log of a kept run.
    Kept(Arc<KeptOutput>),
}

/// Between the texts of two turns, for a client that joins them.
const SEPARATOR: &str = "\n\n";

/// Writes the response.
#[derive(Debug)]
pub(crate) struct AnswerWriter {
    pub(crate) features: ClientFeatures,
    sink: EventSink,
    /// The index of the next block.
    next_index: usize,
    started: bool,
    /// The text of the response so far.
    pub(crate) text: TextPlace,
    /// Whether the log has text of a turn that was not finished.
    has_abandoned_text: bool,
    /// Files that no text has cited yet, after the ids of their containers.
    uncited_files: Vec<(String, OutputFile)>,
}

impl AnswerWriter {
    pub(crate) fn new(features: ClientFeatures, sink: EventSink) -> Self {
        AnswerWriter {
            features,
            sink,
            next_index: 0,
            started: false,
            text: TextPlace::default(),
            has_abandoned_text: false,
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
        match &self.sink {
            // The receiver is polled by the same task, and dropped together with this. Waiting is
            // rare, so it is boxed: its 2 KB would be part of every future that writes an event.
            EventSink::Stream(events) => {
                if let Err(TrySendError::Full(event)) = events.try_send(event) {
                    drop(Box::pin(events.send(event)).await);
                }
            }
            EventSink::Kept(output) => Box::pin(output.send(event)).await,
        }
    }

    /// Holds back what follows until the turn is stored, if the run is kept.
    pub(crate) fn hold_calls(&self) {
        if let EventSink::Kept(output) = &self.sink {
            output.hold();
        }
    }

    /// Continues a log. Events of steps that were not finished are not part of the response,
    /// but their indexes are not used again.
    pub(crate) fn continue_log(&mut self, output: &KeptOutput, log: &LogSummary) {
        self.next_index = self.next_index.max(log.next_index);
        self.has_abandoned_text = log.has_text;
        if let Some(index) = log.open_block {
            output.log(LogEvent::Response(Box::new(StreamEvent::BlockAbandoned {
                index,
            })));
        }
        if log.has_unfinished_step {
            output.log(LogEvent::StepAbandoned);
        }
        if let (false, Some(start)) = (self.started, &log.start) {
            output.collect(start.clone());
            self.started = true;
        }
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

    /// Whether the text of the next turn follows other text, for a client that joins texts.
    pub(crate) fn needs_separator(&self) -> bool {
        self.features.joins_texts && (self.has_text() || self.has_abandoned_text)
    }

    fn has_text(&self) -> bool {
        self.text.bytes > 0
    }

    /// What separates the text of the next turn from that before it, in the response.
    pub(crate) fn separator(&self) -> &'static str {
        if self.features.joins_texts && self.has_text() {
            SEPARATOR
        } else {
            ""
        }
    }

    /// Separates the text of a turn from that before it. Text of a turn that was not finished
    /// is in the log only, and so is what separates it.
    pub(crate) async fn write_separator(&mut self, index: usize) {
        let delta = Delta::Text(SEPARATOR.to_owned());
        let event = StreamEvent::BlockDelta { index, delta };
        match (&self.sink, self.has_text()) {
            (EventSink::Kept(output), false) => output.log(LogEvent::Response(Box::new(event))),
            _ => {
                self.text.add(SEPARATOR);
                self.write(event).await;
            }
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
