//! A Messages stream, written for a client.

use serde_json::{Value, json};

use super::error::render_error;
use super::response_block;
use super::response_out::head;
use super::usage::write_usage;
use crate::Dialect;
use crate::context::ReplyContext;
use crate::fields::put;
use crate::neutral::{
    Delta, Map, ResponseDialectFields, StopReason, StreamEvent, is_audio, without_dialect_fields,
};
use crate::sse::write_json;

/// Writes one event; this dialect needs no memory of the ones before.
pub(crate) fn write_event(event: &StreamEvent, context: &ReplyContext, out: &mut Vec<u8>) {
    match event {
        StreamEvent::MessageStart {
            id,
            model,
            usage,
            rest,
        } => {
            let id = context.id_for(id, "msg_");
            let mut message = head(&id, context.model_or(model), usage);
            message.extend(without_dialect_fields(rest));
            let data = json!({"type": "message_start", "message": message});
            write_json(out, "message_start", &data);
        }
        StreamEvent::BlockStart { index, block } => {
            let (block, text) = response_block::write_start(block, context);
            let data =
                json!({"type": "content_block_start", "index": index, "content_block": block});
            write_json(out, "content_block_start", &data);
            if let Some(text) = text {
                write_block_delta(*index, &Delta::Text(text), out);
            }
        }
        // Events and fields specific to another dialect's blocks and servers.
        StreamEvent::BlockDelta {
            delta: Delta::Rest(_),
            ..
        } => {}
        StreamEvent::Other { name, .. } if name.starts_with("response.") || is_audio(name) => {}
        StreamEvent::BlockDelta { index, delta } => write_block_delta(*index, delta, out),
        StreamEvent::BlockStop { index } | StreamEvent::BlockAbandoned { index } => {
            let data = json!({"type": "content_block_stop", "index": index});
            write_json(out, "content_block_stop", &data);
        }
        StreamEvent::MessageDelta { .. } => write_message_delta(event, out),
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
