//! Reads what a Chat server sends about its reasoning besides the text of a thought, so
//! that it can be sent back: see [`crate::signature_envelope`].

use serde_json::Value;

use super::reasoning_details::{self, ReasoningDetails};
use crate::blocks::{BlockEmitter, OpenBlockKind};
use crate::context::ReadContext;
use crate::fields::JsonFields;
use crate::neutral::{Block, Content, StreamEvent};
use crate::signature_envelope::{ChatState, SignatureEnvelope, decode_envelope, encode_chat_state};

/// The fields that may hold a thought's text, the most common first.
pub(super) const FIELDS: [&str; 2] = ["reasoning_content", "reasoning"];

/// Takes the text of a thought, and the name of its field. What is no text stays.
pub(super) fn take_text(fields: &mut JsonFields<'_>) -> Option<(String, &'static str)> {
    let mut found: Option<(String, &'static str)> = None;
    for field in FIELDS {
        if !fields.peek(field).is_some_and(Value::is_string) {
            continue;
        }
        let text = fields.take(field);
        let text = text.as_ref().and_then(Value::as_str).unwrap_or_default();
        if !text.is_empty() && found.is_none() {
            found = Some((text.to_owned(), field));
        }
    }
    found
}

/// Takes `reasoning_details`; what is no list of objects stays.
pub(super) fn take_details(fields: &mut JsonFields<'_>) -> Vec<Value> {
    let list = fields.peek("reasoning_details").and_then(Value::as_array);
    if !list.is_some_and(|list| list.iter().all(Value::is_object)) {
        return Vec::new();
    }
    match fields.take("reasoning_details") {
        Some(Value::Array(details)) => details,
        _ => Vec::new(),
    }
}

/// The thought of a whole response; `None` without reasoning. The calls are the ids of the
/// response's calls, in order.
pub(super) fn thought(
    text: Option<(String, &'static str)>,
    details: Vec<Value>,
    calls: &[String],
    context: &ReadContext,
) -> Option<Block> {
    if text.is_none() && details.is_empty() {
        return None;
    }
    let (thinking, field) = match text {
        Some((text, field)) => (text, Some(field.to_owned())),
        None => (
            details.iter().filter_map(reasoning_details::text).collect(),
            None,
        ),
    };
    let state = ChatState {
        from: Some(context.server.clone()),
        field,
        calls: named_calls(&details, calls),
        details,
        ..ChatState::default()
    };
    Some(Block::new(Content::Thinking {
        thinking,
        signature: encode_chat_state(&state),
    }))
}

/// Whether some thought carries details already.
pub(super) fn has_details(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| match &block.content {
        Content::Thinking { signature, .. } => {
            matches!(decode_envelope(signature), SignatureEnvelope::Chat(state) if !state.details.is_empty())
        }
        _ => false,
    })
}

/// The thought of a client that sends details back without their envelope.
pub(super) fn thought_from_client(text: Option<String>, details: Vec<Value>) -> Block {
    let thinking = text.unwrap_or_default();
    let state = ChatState {
        details,
        ..ChatState::default()
    };
    Block::new(Content::Thinking {
        thinking,
        signature: encode_chat_state(&state),
    })
}

/// Which of the calls the details name.
fn named_calls(details: &[Value], calls: &[String]) -> Vec<(String, usize)> {
    let calls = calls.iter().enumerate();
    let named =
        calls.filter(|(_, id)| details.iter().any(|d| reasoning_details::id(d) == Some(id)));
    named.map(|(at, id)| (id.clone(), at)).collect()
}

/// The reasoning of a stream so far.
#[derive(Debug, Default)]
pub(super) struct StreamedReasoning {
    field: Option<&'static str>,
    details: ReasoningDetails,
    /// Whether there is something to encode.
    fresh: bool,
    /// Whether details were encoded before.
    more: bool,
    /// Details that a gateway encoded, and may repeat.
    known: Vec<Value>,
}

impl StreamedReasoning {
    /// Takes the reasoning out of a chunk and returns the text that is new; returns what is
    /// wrong if there is too much.
    pub(super) fn take(&mut self, delta: &mut JsonFields<'_>) -> Result<String, &'static str> {
        let text = take_text(delta);
        let details = take_details(delta);
        let mut new = String::new();
        if let Some((text, field)) = text {
            self.field.get_or_insert(field);
            self.fresh = true;
            new = text;
        } else if self.field.is_none() {
            // A server that has no other place for the text.
            new = details.iter().filter_map(reasoning_details::text).collect();
        }
        for detail in details {
            if self.known.contains(&detail) {
                continue;
            }
            self.fresh = true;
            self.details.push(detail)?;
        }
        Ok(new)
    }

    /// A gateway signed the thought itself: no envelope is needed.
    pub(super) fn mark_signed(&mut self, signature: &str) {
        if let SignatureEnvelope::Chat(state) = decode_envelope(signature) {
            self.known.extend(state.details);
        }
        self.details.take();
        self.fresh = false;
    }

    /// Whether something waits that no open thought can carry.
    fn has_pending(&self, blocks: &BlockEmitter) -> bool {
        self.fresh && (blocks.open() == OpenBlockKind::Thinking || !self.details.is_empty())
    }

    /// Writes the envelope as the signature of the open thought or of an empty one, and
    /// closes it. Not inside a call: later details wait for its end.
    pub(super) fn write_signature(
        &mut self,
        calls: &[String],
        context: &ReadContext,
        blocks: &mut BlockEmitter,
        out: &mut Vec<StreamEvent>,
    ) {
        if !self.has_pending(blocks) || matches!(blocks.open(), OpenBlockKind::Call(_)) {
            return;
        }
        let details = self.details.take();
        let state = ChatState {
            from: Some(context.server.clone()),
            field: self.field.map(str::to_owned),
            calls: named_calls(&details, calls),
            more: self.more && !details.is_empty(),
            details,
            extra: None,
        };
        self.more |= !state.details.is_empty();
        self.fresh = false;
        blocks.signature(encode_chat_state(&state), out);
        blocks.close(out);
    }
}
