//! Tells a whole response as a stream, for upstreams that do not stream.

use serde_json::{Value, json};

use super::{
    Block, Content, DIALECT_FIELDS, Delta, Map, Response, ResponseDialectFields, StreamEvent,
    annotation_event, citations_of_only_text, merge_dialect_fields,
};
use crate::Dialect;

/// The events of a whole response: one delta per growing block.
pub fn replay(mut response: Response) -> Vec<StreamEvent> {
    let mut cited = citations_of_only_text(&response);
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
        if let Some((_, citations)) = cited.take_if(|(text, _)| *text == index) {
            events.extend(citations.into_iter().map(annotation_event));
        }
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
    // A response that was collected from a stream has it there.
    let collected = response.rest.shift_remove(DIALECT_FIELDS);
    let mut own = Map::from_iter(collected.map(|own| (DIALECT_FIELDS.to_owned(), own)));
    let rest = match response.origin {
        Dialect::Messages => late_fields(&mut response.rest),
        Dialect::Converse => Map::new(),
        Dialect::Chat | Dialect::Responses | Dialect::Gemini => std::mem::take(&mut response.rest),
    };
    let mut more = ResponseDialectFields {
        body: rest,
        choice: std::mem::take(&mut response.choice_rest),
        message: std::mem::take(&mut response.message_rest),
    };
    if response.origin == Dialect::Gemini {
        more.choice.extend(std::mem::take(&mut more.message));
    }
    merge_dialect_fields(&mut own, &more.write(response.origin));
    own
}

/// The fields of Anthropic's message that a stream has at its end.
fn late_fields(rest: &mut Map) -> Map {
    let is_set = |value: &Value| !value.is_null();
    let found = rest.get("context_management").is_some_and(is_set);
    let late = found.then(|| rest.shift_remove_entry("context_management"));
    Map::from_iter(late.flatten())
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
