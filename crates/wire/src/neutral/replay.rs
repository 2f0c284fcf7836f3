//! Tells a whole response as a stream, for upstreams that do not stream.

use serde_json::json;

use super::{
    Block, Content, Delta, Map, Response, ResponseDialectFields, StreamEvent,
    without_dialect_fields,
};
use crate::Dialect;

/// The events of a whole response: one delta per growing block.
pub fn replay(mut response: Response) -> Vec<StreamEvent> {
    let own = dialect_fields(&mut response);
    let mut events = vec![StreamEvent::MessageStart {
        id: response.id,
        model: response.model,
        usage: response.usage.clone(),
        rest: match response.origin {
            Dialect::Messages => response.rest,
            _ => Default::default(),
        },
    }];
    for (index, mut block) in response.content.into_iter().enumerate() {
        let deltas = take_deltas(&mut block);
        events.push(StreamEvent::BlockStart { index, block });
        events.extend(
            deltas
                .into_iter()
                .map(|delta| StreamEvent::BlockDelta { index, delta }),
        );
        events.push(StreamEvent::BlockStop { index });
    }
    events.push(StreamEvent::MessageDelta {
        stop_reason: response.stop_reason,
        stop_sequence: response.stop_sequence,
        stop_details: response.stop_details,
        container: response.container,
        usage: response.usage,
        rest: own,
    });
    events.push(StreamEvent::MessageStop);
    events
}

/// The fields of a response that only its own dialect has.
fn dialect_fields(response: &mut Response) -> Map {
    // Thoughts are emitted as blocks.
    for key in ["reasoning", "reasoning_details"] {
        response.message_rest.shift_remove(key);
    }
    match response.origin {
        Dialect::Chat | Dialect::Responses => {
            // A response that was collected from a stream has it there.
            let mut own = ResponseDialectFields::read(response.origin, &response.rest);
            own.body.extend(without_dialect_fields(&response.rest));
            own.choice.extend(std::mem::take(&mut response.choice_rest));
            own.message
                .extend(std::mem::take(&mut response.message_rest));
            own.write(response.origin)
        }
        Dialect::Messages | Dialect::Gemini | Dialect::Converse => Map::new(),
    }
}

/// Empties the growing part of a block and returns it as deltas.
fn take_deltas(block: &mut Block) -> Vec<Delta> {
    match &mut block.content {
        Content::Text(text) => vec![Delta::Text(std::mem::take(text))],
        Content::Thinking {
            thinking,
            signature,
        } => vec![
            Delta::Thinking(std::mem::take(thinking)),
            Delta::Signature(std::mem::take(signature)),
        ],
        Content::ToolUse { input, .. } | Content::ServerToolUse { input, .. } => {
            let whole = std::mem::replace(input, json!({}));
            vec![Delta::InputJson(crate::arguments::write(&whole))]
        }
        _ => Vec::new(),
    }
}
