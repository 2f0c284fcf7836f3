//! What a Chat server's answer tells of its reasoning beside the text of a thought, read
//! so that it can be sent back: see [`crate::sealed`].

use serde_json::Value;

use super::details::{self, Details};
use crate::blocks::{Blocks, Open};
use crate::context::ReadContext;
use crate::fields::Fields;
use crate::neutral::{Block, Content, StreamEvent};
use crate::sealed::{ChatState, Sealed, open, seal_chat};

/// The fields a thought's text may stand in, the usual one first.
pub(super) const FIELDS: [&str; 2] = ["reasoning_content", "reasoning"];

/// Takes the text of a thought, and the name of its field. What is no text stays.
pub(super) fn take_text(fields: &mut Fields<'_>) -> Option<(String, &'static str)> {
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
pub(super) fn take_details(fields: &mut Fields<'_>) -> Vec<Value> {
    let list = fields.peek("reasoning_details").and_then(Value::as_array);
    if !list.is_some_and(|list| list.iter().all(Value::is_object)) {
        return Vec::new();
    }
    match fields.take("reasoning_details") {
        Some(Value::Array(details)) => details,
        _ => Vec::new(),
    }
}

/// The thought of a whole answer; none where nothing was thought. The calls are the ids
/// of the answer's, in order.
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
        None => (details.iter().filter_map(details::text).collect(), None),
    };
    let state = ChatState {
        from: Some(context.server.clone()),
        field,
        calls: named(&details, calls),
        details,
        ..ChatState::default()
    };
    Some(Block::new(Content::Thinking {
        thinking,
        signature: seal_chat(&state),
    }))
}

/// Whether some thought carries details already.
pub(super) fn has_details(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| match &block.content {
        Content::Thinking { signature, .. } => {
            matches!(open(signature), Sealed::Chat(state) if !state.details.is_empty())
        }
        _ => false,
    })
}

/// The thought of a client that brings details back without the seal they were given in.
pub(super) fn clients_thought(text: Option<String>, details: Vec<Value>) -> Block {
    let thinking = text.unwrap_or_default();
    let state = ChatState {
        details,
        ..ChatState::default()
    };
    Block::new(Content::Thinking {
        thinking,
        signature: seal_chat(&state),
    })
}

/// Which of the calls the details name.
fn named(details: &[Value], calls: &[String]) -> Vec<(String, usize)> {
    let calls = calls.iter().enumerate();
    let named = calls.filter(|(_, id)| details.iter().any(|d| details::id(d) == Some(id)));
    named.map(|(at, id)| (id.clone(), at)).collect()
}

/// The reasoning of a stream so far.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    field: Option<&'static str>,
    details: Details,
    /// Whether there is something to seal.
    fresh: bool,
    /// Whether details were sealed before.
    more: bool,
    /// Details that a gateway sealed, and may repeat.
    known: Vec<Value>,
}

impl Reasoning {
    /// Takes the reasoning of a chunk and gives the text that is new in it; says what is
    /// wrong if there is too much.
    pub(super) fn take(&mut self, delta: &mut Fields<'_>) -> Result<String, &'static str> {
        let text = take_text(delta);
        let details = take_details(delta);
        let mut new = String::new();
        if let Some((text, field)) = text {
            self.field.get_or_insert(field);
            self.fresh = true;
            new = text;
        } else if self.field.is_none() {
            // A server that has no other place for the text.
            new = details.iter().filter_map(details::text).collect();
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

    /// A gateway sealed the thought itself: nothing of ours is needed.
    pub(super) fn was_sealed(&mut self, signature: &str) {
        if let Sealed::Chat(state) = open(signature) {
            self.known.extend(state.details);
        }
        self.details.take();
        self.fresh = false;
    }

    /// Whether something waits that no open thought can carry.
    fn waits(&self, blocks: &Blocks) -> bool {
        self.fresh && (blocks.open() == Open::Thinking || !self.details.is_empty())
    }

    /// Seals what there is, as the signature of the open thought or of an empty one, and
    /// ends it. Not inside a call: what comes then waits for its end.
    pub(super) fn seal(
        &mut self,
        calls: &[String],
        context: &ReadContext,
        blocks: &mut Blocks,
        out: &mut Vec<StreamEvent>,
    ) {
        if !self.waits(blocks) || matches!(blocks.open(), Open::Call(_)) {
            return;
        }
        let details = self.details.take();
        let state = ChatState {
            from: Some(context.server.clone()),
            field: self.field.map(str::to_owned),
            calls: named(&details, calls),
            more: self.more && !details.is_empty(),
            details,
            extra: None,
        };
        self.more |= !state.details.is_empty();
        self.fresh = false;
        blocks.signature(seal_chat(&state), out);
        blocks.close(out);
    }
}
