//! A Messages stream, written for a client.

use serde_json::{Value, json};

use super::answered_calls::UnansweredCalls;
use super::error::render_error;
use super::response_block::{self, StartedBlock};
use super::response_out::head;
use super::usage::write_usage;
use crate::Dialect;
use crate::context::ReplyContext;
use crate::fields::put;
use crate::neutral::{
    Block, Delta, Map, ResponseDialectFields, StopReason, StreamEvent, is_audio,
    without_dialect_fields,
};
use crate::sse::write_json;

/// Writes the events of one stream.
#[derive(Debug)]
pub(crate) struct MessagesWriter {
    context: ReplyContext,
    /// How many blocks were written besides those of the stream.
    added: usize,
    /// The index of the next block.
    next_index: usize,
    /// What follows the open block.
    result: Option<Value>,
    unanswered: UnansweredCalls,
}

impl MessagesWriter {
    pub(crate) fn new(context: ReplyContext) -> Self {
        MessagesWriter {
            context,
            added: 0,
            next_index: 0,
            result: None,
            unanswered: UnansweredCalls::default(),
        }
    }

    pub(crate) fn write(&mut self, event: &StreamEvent, out: &mut Vec<u8>) {
        match event {
            StreamEvent::MessageStart {
                id,
                model,
                usage,
                rest,
            } => {
                let id = self.context.id_for(id, "msg_");
                let mut message = head(&id, self.context.model_or(model), usage);
                message.extend(without_dialect_fields(rest));
                let data = json!({"type": "message_start", "message": message});
                write_json(out, "message_start", &data);
            }
            StreamEvent::BlockStart { index, block } => self.start_block(*index, block, out),
            // Events and fields specific to another dialect's blocks and servers.
            StreamEvent::BlockDelta {
                delta: Delta::Rest(_),
                ..
            } => {}
            StreamEvent::Other { name, .. } if name.starts_with("response.") || is_audio(name) => {}
            StreamEvent::BlockDelta { index, delta } => {
                write_block_delta(index + self.added, delta, out);
            }
            StreamEvent::BlockStop { index } | StreamEvent::BlockAbandoned { index } => {
                write_block_stop(index + self.added, out);
                if let Some(result) = self.result.take() {
                    self.add_block(&result, out);
                }
            }
            StreamEvent::MessageDelta { .. } => {
                for result in self.unanswered.take_results() {
                    self.add_block(&result, out);
                }
                write_message_delta(event, out);
            }
            StreamEvent::MessageStop => {
                write_json(out, "message_stop", &json!({"type": "message_stop"}));
            }
            StreamEvent::Ping => write_json(out, "ping", &json!({"type": "ping"})),
            StreamEvent::Error(error) => write_json(out, "error", &render_error(error).body),
            StreamEvent::Other { name, data } => {
                let mut map = Map::from_iter([("type".to_owned(), name.as_str().into())]);
                map.extend(data.clone());
                write_json(out, name, &map);
            }
        }
    }

    fn start_block(&mut self, index: usize, block: &Block, out: &mut Vec<u8>) {
        let StartedBlock {
            block,
            delta,
            result,
        } = response_block::write_start(block, &self.context);
        let index = index + self.added;
        self.next_index = index + 1;
        self.unanswered.note(&block);
        self.result = result;
        write_block_start(index, &block, out);
        if let Some(delta) = delta {
            write_block_delta(index, &delta, out);
        }
    }

    /// Writes a whole block that is none of the stream's.
    fn add_block(&mut self, block: &Value, out: &mut Vec<u8>) {
        let index = self.next_index;
        self.next_index += 1;
        self.added += 1;
        self.unanswered.note(block);
        write_block_start(index, block, out);
        write_block_stop(index, out);
    }
}

fn write_block_start(index: usize, block: &Value, out: &mut Vec<u8>) {
    let data = json!({"type": "content_block_start", "index": index, "content_block": block});
    write_json(out, "content_block_start", &data);
}

fn write_block_stop(index: usize, out: &mut Vec<u8>) {
    let data = json!({"type": "content_block_stop", "index": index});
    write_json(out, "content_block_stop", &data);
}

fn write_block_delta(index: usize, delta: &Delta, out: &mut Vec<u8>) {
    let delta = write_delta(delta);
    let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
    write_json(out, "content_block_delta", &data);
}

fn write_message_delta(event: &StreamEvent, out: &mut Vec<u8>) {
    let StreamEvent::MessageDelta {
        stop_reason,
        stop_sequence,
        stop_details,
        container,
        usage,
        rest,
    } = event
    else {
        return;
    };
    let mut delta = Map::new();
    let reason = stop_reason.as_ref().map(StopReason::as_str);
    delta.insert("stop_reason".to_owned(), reason.into());
    delta.insert("stop_sequence".to_owned(), stop_sequence.clone().into());
    put(&mut delta, "stop_details", stop_details.clone());
    put(&mut delta, "container", container.clone());
    let mut data = Map::from_iter([("type".to_owned(), "message_delta".into())]);
    data.insert("delta".to_owned(), delta.into());
    data.insert("usage".to_owned(), write_usage(usage));
    data.extend(without_dialect_fields(rest));
    data.extend(ResponseDialectFields::read(Dialect::Messages, rest).body);
    write_json(out, "message_delta", &data);
}

fn write_delta(delta: &Delta) -> Value {
    match delta {
        Delta::Text(text) => json!({"type": "text_delta", "text": text}),
        Delta::InputJson(json) => json!({"type": "input_json_delta", "partial_json": json}),
        Delta::Thinking(text) => json!({"type": "thinking_delta", "thinking": text}),
        Delta::Signature(text) => json!({"type": "signature_delta", "signature": text}),
        Delta::Other(map) | Delta::Rest(map) => Value::Object(map.clone()),
    }
}
