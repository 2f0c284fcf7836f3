//! Refusals: what OpenAI tells in a place of its own is text and a reason elsewhere.

use serde_json::Value;

/// The most text that is remembered of a stream.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// Why a model or a filter declined.
pub(crate) fn explanation(details: Option<&Value>) -> Option<&str> {
    details?.get("explanation")?.as_str()
}

/// What a stream has said so far, as far as a refusal may be that long.
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

    /// Whether nothing was said that a refusal would not say: it is told as one, and
    /// the answer is complete.
    pub(crate) fn allows_refusal(&self, refusal: &str) -> bool {
        !self.too_long && (self.text.is_empty() || self.text == refusal)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.too_long
    }
}
