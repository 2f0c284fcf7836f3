//! Collects a stream into a whole response.

use serde_json::Value;

use super::{
    ANNOTATION_ADDED, ANNOTATIONS, AUDIO, ApiError, Block, CollectedAudio, Content, Delta, Map,
    Response, StreamEvent, add_annotations, is_audio, merge,
};
use crate::Dialect;

/// Collects a stream's events into a [`Response`].
#[derive(Debug)]
pub struct ResponseCollector {
    response: Response,
    input: String,
    /// Annotations of the open text that events announced: kept for writers of Responses.
    announced: Vec<Value>,
    /// Speech, kept for writers of Chat.
    audio: CollectedAudio,
    ended: bool,
}

impl ResponseCollector {
    /// A collector of a stream that was read from this dialect.
    pub fn new(origin: Dialect) -> Self {
        ResponseCollector {
            response: Response::new(origin, "", ""),
            input: String::new(),
            announced: Vec::new(),
            audio: CollectedAudio::default(),
            ended: false,
        }
    }

    /// Takes the next event; an error event ends the collection.
    pub fn push(&mut self, event: StreamEvent) -> Result<(), ApiError> {
        match event {
            StreamEvent::MessageStart {
                id,
                model,
                usage,
                rest,
            } => {
                self.response.id = id;
                self.response.model = model;
                self.response.usage = usage;
                self.response.rest = rest;
            }
            StreamEvent::BlockStart { block, .. } => self.response.content.push(block),
            StreamEvent::BlockDelta { delta, .. } => self.grow(delta),
            StreamEvent::BlockStop { .. } => self.close(),
            StreamEvent::BlockAbandoned { .. } => self.discard(),
            StreamEvent::MessageDelta {
                stop_reason,
                stop_sequence,
                stop_details,
                container,
                usage,
                rest,
            } => {
                self.response.rest.extend(rest);
                self.response.stop_reason = stop_reason;
                self.response.stop_sequence = stop_sequence;
                self.response.stop_details = stop_details;
                self.response.container = container;
                self.response.usage = usage;
            }
            StreamEvent::MessageStop => self.ended = true,
            StreamEvent::Error(error) => return Err(error),
            StreamEvent::Other { name, mut data } => match self.response.origin {
                Dialect::Responses if name == ANNOTATION_ADDED => {
                    self.announced.extend(data.shift_remove("annotation"));
                }
                Dialect::Chat if is_audio(&name) => self.audio.push(data),
                _ => {}
            },
            StreamEvent::Ping => {}
        }
        Ok(())
    }

    /// The response; an error when the stream had no end.
    pub fn finish(mut self) -> Result<Response, ApiError> {
        if !self.ended {
            return Err(ApiError::truncated());
        }
        if let Some(audio) = self.audio.finish() {
            let message = &mut self.response.message_rest;
            message.insert(AUDIO.to_owned(), audio.into());
        }
        Ok(self.response)
    }

    fn grow(&mut self, delta: Delta) {
        let Some(block) = self.response.content.last_mut() else {
            return;
        };
        match (&mut block.content, delta) {
            (Content::Text(text), Delta::Text(more)) => text.push_str(&more),
            (Content::Thinking { thinking, .. }, Delta::Thinking(more)) => thinking.push_str(&more),
            (Content::Thinking { signature, .. }, Delta::Signature(whole)) => *signature = whole,
            (_, Delta::InputJson(more)) => self.input.push_str(&more),
            (Content::Other { kind }, Delta::Other(map)) if kind == "compaction" => {
                compaction(block, map);
            }
            (_, Delta::Other(map)) => citation(block, map),
            (_, Delta::Rest(more)) => {
                if more.contains_key(ANNOTATIONS) {
                    self.announced.clear();
                }
                merge(&mut block.rest, more);
            }
            _ => {}
        }
    }

    fn discard(&mut self) {
        self.input.clear();
        self.announced.clear();
        self.response.content.pop();
    }

    fn close(&mut self) {
        let text = std::mem::take(&mut self.input);
        let announced = std::mem::take(&mut self.announced);
        let Some(block) = self.response.content.last_mut() else {
            return;
        };
        add_annotations(&mut block.rest, announced);
        if text.is_empty() {
            return;
        }
        match &mut block.content {
            Content::ToolUse { input, .. } | Content::ServerToolUse { input, .. } => {
                *input = crate::arguments::parse(text);
            }
            Content::Other { kind } if kind == "mcp_tool_use" => {
                let input = crate::arguments::parse(text);
                block.rest.insert("input".to_owned(), input);
            }
            _ => {}
        }
    }
}

/// Anthropic's summary of a conversation: its text grows, and what only Anthropic can read comes
/// whole.
fn compaction(block: &mut Block, delta: Map) {
    for (key, value) in delta {
        match (key.as_str(), block.rest.get_mut(&key), value) {
            ("type", _, _) => {}
            ("content", Some(Value::String(known)), Value::String(more)) => known.push_str(&more),
            (_, _, value) => {
                block.rest.insert(key, value);
            }
        }
    }
}

/// Anthropic streams the citations of a text one by one.
fn citation(block: &mut Block, mut delta: Map) {
    let Some(citation) = delta.remove("citation") else {
        return;
    };
    let list = block
        .rest
        .entry("citations")
        .or_insert_with(|| Value::Array(Vec::new()));
    match list {
        Value::Array(items) => items.push(citation),
        other => *other = Value::Array(vec![citation]),
    }
}
