//! Items of OpenAI's own servers that are in progress while a stream is read. Their progress
//! events are passed on unchanged; other items wait meanwhile, so that one
//! item ends before the next begins.

use std::collections::VecDeque;

use serde_json::Value;

/// How the names of all events of this dialect begin, but for errors.
pub(super) const EVENT_PREFIX: &str = "response.";

/// Maximum bytes of events that may wait for an item to end.
const MAX_QUEUED_BYTES: usize = 32 << 20;

/// The item in progress, and the events that wait for its end.
#[derive(Debug, Default)]
pub(super) struct HostedItemQueue {
    open: Option<u64>,
    waiting: VecDeque<(Value, usize)>,
    bytes: usize,
}

impl HostedItemQueue {
    /// The item at this index is in progress.
    pub(super) fn begin(&mut self, index: Option<u64>) {
        self.open = index;
    }

    /// Whether the item at this index is the one in progress.
    pub(super) fn is_open(&self, index: Option<u64>) -> bool {
        index.is_some() && self.open == index
    }

    /// The item has ended.
    pub(super) fn end(&mut self) {
        self.open = None;
    }

    /// Queues an event of this size; returns whether it is within the limit.
    pub(super) fn push(&mut self, event: Value, bytes: usize) -> bool {
        if is_last(&event) {
            self.open = None;
        }
        self.bytes += bytes;
        self.waiting.push_back((event, bytes));
        self.bytes <= MAX_QUEUED_BYTES
    }

    /// The next event that can be processed.
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

/// Whether an event is the last one.
fn is_last(event: &Value) -> bool {
    let kind = event.get("type").and_then(Value::as_str);
    matches!(
        kind,
        Some("response.completed" | "response.incomplete" | "response.failed" | "error")
    )
}
