//! Items that OpenAI's own servers are at work on while a stream is read. What they tell
//! of their progress is passed on as it stands; other items wait meanwhile, so that one
//! item ends before the next begins.

use std::collections::VecDeque;

use serde_json::Value;

/// How the names of all events of this dialect begin, but for errors.
pub(super) const EVENT_PREFIX: &str = "response.";

/// The most bytes of events that may wait for an item to end.
const MAX_QUEUED_BYTES: usize = 32 << 20;

/// The item that the servers are at work on, and the events that wait for its end.
#[derive(Debug, Default)]
pub(super) struct HostedItemQueue {
    open: Option<u64>,
    waiting: VecDeque<(Value, usize)>,
    bytes: usize,
}

impl HostedItemQueue {
    /// The servers have begun to work on the item of this index.
    pub(super) fn begin(&mut self, index: Option<u64>) {
        self.open = index;
    }

    /// Whether the item of this index is the one they are at work on.
    pub(super) fn is_open(&self, index: Option<u64>) -> bool {
        index.is_some() && self.open == index
    }

    /// The item has ended.
    pub(super) fn end(&mut self) {
        self.open = None;
    }

    /// Takes an event of so many bytes; says whether there is still room.
    pub(super) fn push(&mut self, event: Value, bytes: usize) -> bool {
        if is_last(&event) {
            self.open = None;
        }
        self.bytes += bytes;
        self.waiting.push_back((event, bytes));
        self.bytes <= MAX_QUEUED_BYTES
    }

    /// The next event whose turn it is.
    pub(super) fn next(&mut self) -> Option<Value> {
        let open = self.open;
        let may_pass = |event: &Value| {
            let index = event.get("output_index").and_then(Value::as_u64);
            open.is_none() || index.is_none() || index == open
        };
        let at = self.waiting.iter().position(|(event, _)| may_pass(event))?;
        let (event, bytes) = self.waiting.remove(at)?;
        self.bytes = self.bytes.saturating_sub(bytes);
        Some(event)
    }
}

/// Whether nothing comes after an event.
fn is_last(event: &Value) -> bool {
    let kind = event.get("type").and_then(Value::as_str);
    matches!(
        kind,
        Some("response.completed" | "response.incomplete" | "response.failed" | "error")
    )
}
