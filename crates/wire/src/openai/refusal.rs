//! Refusals: OpenAI has a field for them, other dialects send text and a stop reason.

use serde_json::{Value, json};

use crate::neutral::{Block, DIALECT_FIELDS};

/// The mark of a text that is a refusal.
const REFUSAL: &str = "refusal";

/// An empty text that grows to a refusal. It is marked at its start, because writers of streams
/// cannot wait for the reason at the end.
pub(crate) fn empty_refusal() -> Block {
    let mut block = Block::text("");
    mark_refusal(&mut block);
    block
}

/// Marks a text as a refusal.
pub(crate) fn mark_refusal(block: &mut Block) {
    let own = block
        .rest
        .entry(DIALECT_FIELDS)
        .or_insert_with(|| json!({}));
    if let Some(own) = own.as_object_mut() {
        own.insert(REFUSAL.to_owned(), true.into());
    }
}

/// Whether a text was marked so.
pub(crate) fn is_refusal(block: &Block) -> bool {
    let own = block.rest.get(DIALECT_FIELDS);
    own.and_then(|own| own.get(REFUSAL)) == Some(&Value::Bool(true))
}

/// The most text that is remembered of a stream.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// Why a model or a filter declined.
pub(crate) fn explanation(details: Option<&Value>) -> Option<&str> {
    details?.get("explanation")?.as_str()
}

/// The text of a stream so far, up to the maximum length of a refusal.
#[derive(Debug, Default)]
pub(crate) struct StreamedText {
    text: String,
    too_long: bool,
}

impl StreamedText {
    pub(crate) fn push(&mut self, more: &str) {
        self.too_long |= self.text.len() + more.len() > MAX_TEXT_BYTES;
        if !self.too_long {
            self.text.push_str(more);
        }
    }

    /// Whether the text so far is part of the refusal: then it is sent as a refusal, and
    /// the response is complete.
    pub(crate) fn allows_refusal(&self, refusal: &str) -> bool {
        !self.too_long && (self.text.is_empty() || self.text == refusal)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.too_long
    }
}
