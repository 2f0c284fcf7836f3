//! One turn of the model: its response is forwarded as it comes, and collected unchanged.
//!
//! What the client receives differs in three points: indexes continue where the last turn
//! ended, calls of Prowess's tools become server tool calls, and calls of the client's tools
//! get ids under which turns can be stored, if the client's dialect loses them. A client that
//! joins the texts of all turns gets them separated, with citations at their places in the whole.

use prowess_provider::ModelOutput;
use prowess_wire::Dialect;
use prowess_wire::neutral::{
    ApiError, Block, Content, Delta, Response, ResponseCollector, StreamEvent, TextPlace,
    move_annotations, replay,
};
use serde_json::Value;

use crate::ids;
use crate::intake::prepared::RunTools;
use crate::tool_call::ToolCall;
use crate::turns::answer_writer::AnswerWriter;
use crate::turns::provider_files::ProviderFileTracker;

/// The output of a turn.
#[derive(Debug)]
pub(crate) struct TurnOutput {
    /// The model's response, with the new ids.
    pub(crate) response: Response,
    /// Calls of Prowess's tools, in order.
    pub(crate) server_calls: Vec<ToolCall>,
    /// The ids of the calls of the client's tools.
    pub(crate) client_calls: Vec<String>,
    /// Where the turn's text begins in the text of the run, for a client that joins texts.
    pub(crate) text_begins_at: TextPlace,
}

/// The ids of the calls in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallIds {
    /// The model's, which are replaced.
    FromModel,
    /// Those that the calls got when the turn was recorded.
    Recorded,
}

/// Reads a turn to its end, and forwards it to the client.
pub(crate) async fn stream_turn(
    response: ModelOutput,
    call_ids: CallIds,
    tools: &RunTools,
    tracker: &ProviderFileTracker<'_>,
    writer: &mut AnswerWriter,
) -> Result<TurnOutput, ApiError> {
    let mut reader = TurnReader {
        call_ids,
        tools,
        tracker,
        needs_separator: writer.needs_separator(),
        writer,
        collector: ResponseCollector::new(Dialect::Messages),
        blocks: 0,
        renamed_ids: Vec::new(),
        open: OpenBlock::Nothing,
        server_calls: Vec::new(),
        client_calls: Vec::new(),
        text_begins_at: None,
        separated: None,
    };
    match response {
        ModelOutput::Response(response) => {
            for event in replay(*response) {
                reader.on_event(event).await?;
            }
        }
        ModelOutput::Stream(mut events) => {
            while let Some(event) = events.next().await {
                reader.on_event(event).await?;
            }
        }
    }
    reader.finish()
}

struct TurnReader<'a> {
    call_ids: CallIds,
    tools: &'a RunTools,
    tracker: &'a ProviderFileTracker<'a>,
    writer: &'a mut AnswerWriter,
    collector: ResponseCollector,
    blocks: usize,
    /// New ids of calls, after their indexes in the model's response.
    renamed_ids: Vec<(usize, String)>,
    open: OpenBlock,
    server_calls: Vec<ToolCall>,
    client_calls: Vec<String>,
    /// Whether the next text starts a new paragraph, because it follows that of another turn.
    needs_separator: bool,
    /// Where the turn's text begins in the text of the run.
    text_begins_at: Option<TextPlace>,
    /// The block with the separator, and where its own text begins in it.
    separated: Option<(usize, TextPlace)>,
}

/// The block being read.
enum OpenBlock {
    Nothing,
    /// Forwarded as it comes, at this index.
    Forwarded(usize),
    /// A call of one of Prowess's tools, written when it is complete.
    ServerCall {
        call: ToolCall,
        json: String,
    },
}

impl TurnReader<'_> {
    async fn on_event(&mut self, event: StreamEvent) -> Result<(), ApiError> {
        self.collector.push(event.clone())?;
        match event {
            StreamEvent::MessageStart {
                id,
                model,
                usage,
                rest,
            } => self.writer.start_message(id, model, usage, rest).await,
            StreamEvent::BlockStart { block, .. } => self.on_block_start(block).await,
            StreamEvent::BlockDelta { delta, .. } => self.on_delta(delta).await,
            StreamEvent::BlockStop { .. } => self.on_block_stop().await,
            StreamEvent::Ping | StreamEvent::Other { .. } => self.writer.write(event).await,
            // One end is written, after the last turn. Providers abandon no block.
            StreamEvent::MessageDelta { .. }
            | StreamEvent::MessageStop
            | StreamEvent::BlockAbandoned { .. }
            | StreamEvent::Error(_) => {}
        }
        Ok(())
    }

    async fn on_block_start(&mut self, mut block: Block) {
        let place = self.blocks;
        self.blocks += 1;
        let is_recorded = self.call_ids == CallIds::Recorded;
        if let Content::ToolUse { id, name, input } = &mut block.content {
            self.writer.hold_calls();
            if self.tools.toolbox.has_tool(name) {
                let call = ToolCall {
                    id: if is_recorded {
                        id.clone()
                    } else {
                        ids::new_server_call_id()
                    },
                    name: name.clone(),
                    input: input.clone(),
                    is_announced: false,
                };
                self.renamed_ids.push((place, call.id.clone()));
                let json = String::new();
                self.open = OpenBlock::ServerCall { call, json };
                return;
            }
            if self.writer.features.loses_turns && !is_recorded {
                *id = ids::new_chat_call_id();
                self.renamed_ids.push((place, id.clone()));
            }
            self.client_calls.push(id.clone());
        }
        self.tracker.track(&block.content).await;
        let mut text = String::new();
        if let Content::Text(given) = &mut block.content {
            text = std::mem::take(given);
            if self.needs_separator {
                move_annotations(&mut block.rest, self.separator());
            }
        }
        let index = self.writer.start_block(block).await;
        self.open = OpenBlock::Forwarded(index);
        if !text.is_empty() {
            self.write_text(index, text).await;
        }
    }

    /// The text before that of a turn, in its first block with text.
    fn separator(&self) -> TextPlace {
        let mut place = TextPlace::default();
        place.add(self.writer.separator());
        place
    }

    async fn write_text(&mut self, index: usize, text: String) {
        if !text.is_empty() {
            if std::mem::take(&mut self.needs_separator) {
                self.separated = Some((index, self.separator()));
                self.writer.write_separator(index).await;
            }
            self.text_begins_at.get_or_insert(self.writer.text);
            self.writer.text.add(&text);
        }
        let delta = Delta::Text(text);
        let event = StreamEvent::BlockDelta { index, delta };
        self.writer.write(event).await;
    }

    async fn on_delta(&mut self, mut delta: Delta) {
        let index = match (&mut self.open, &delta) {
            (OpenBlock::ServerCall { json, .. }, Delta::InputJson(more)) => {
                json.push_str(more);
                return;
            }
            (OpenBlock::Forwarded(index), _) => *index,
            _ => return,
        };
        if let Delta::Text(text) = delta {
            return self.write_text(index, text).await;
        }
        if let (Delta::Rest(rest), Some((at, begins_at))) = (&mut delta, self.separated)
            && at == index
        {
            move_annotations(rest, begins_at);
        }
        let event = StreamEvent::BlockDelta { index, delta };
        self.writer.write(event).await;
    }

    async fn on_block_stop(&mut self) {
        match std::mem::replace(&mut self.open, OpenBlock::Nothing) {
            OpenBlock::Forwarded(index) => {
                self.writer.write(StreamEvent::BlockStop { index }).await
            }
            OpenBlock::ServerCall { mut call, json } => {
                if !json.is_empty() {
                    let parsed = prowess_wire::parse_json(json.as_bytes());
                    call.input = parsed.unwrap_or(Value::String(json));
                }
                if let Some((tool, input)) = self.tools.names.native_call(&call) {
                    self.writer.write_call(&call.id, tool, &input).await;
                    call.is_announced = true;
                }
                self.server_calls.push(call);
            }
            OpenBlock::Nothing => {}
        }
    }

    fn finish(self) -> Result<TurnOutput, ApiError> {
        let mut response = self.collector.finish()?;
        for (place, new) in self.renamed_ids {
            if let Some(Block {
                content: Content::ToolUse { id, .. },
                ..
            }) = response.content.get_mut(place)
            {
                *id = new;
            }
        }
        let joins = self.writer.features.joins_texts;
        Ok(TurnOutput {
            response,
            server_calls: self.server_calls,
            client_calls: self.client_calls,
            text_begins_at: self.text_begins_at.filter(|_| joins).unwrap_or_default(),
        })
    }
}
