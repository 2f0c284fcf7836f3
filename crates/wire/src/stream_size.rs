//! How large a streamed response may become. Those who read and write it collect what they need
//! until its end, so one that never ends would fill the memory. Knows no dialect.

use std::fmt::{self, Write};

use crate::neutral::{Delta, StreamEvent};

/// The most bytes of a response, many times what any model writes.
pub(crate) const MAX_RESPONSE_BYTES: usize = 128 << 20;
/// What a block or an event takes besides its texts.
const EVENT_BYTES: usize = 256;

/// The bytes of a response so far.
#[derive(Debug, Default)]
pub(crate) struct StreamSize(usize);

impl StreamSize {
    /// Counts more of it; returns whether it is too large.
    pub(crate) fn exceeds_limit_with(&mut self, events: &[StreamEvent]) -> bool {
        let more = events.iter().map(event_bytes);
        self.0 = more.fold(self.0, usize::saturating_add);
        self.0 > MAX_RESPONSE_BYTES
    }
}

fn event_bytes(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::BlockDelta { delta, .. } => match delta {
            Delta::Text(text)
            | Delta::InputJson(text)
            | Delta::Thinking(text)
            | Delta::Signature(text) => text.len(),
            Delta::Other(fields) | Delta::Rest(fields) => EVENT_BYTES + printed_bytes(fields),
        },
        StreamEvent::BlockStart { block, .. } => EVENT_BYTES + printed_bytes(block),
        StreamEvent::MessageStart { rest, .. } | StreamEvent::MessageDelta { rest, .. } => {
            EVENT_BYTES + printed_bytes(rest)
        }
        StreamEvent::Other { data, .. } => EVENT_BYTES + printed_bytes(data),
        StreamEvent::BlockStop { .. }
        | StreamEvent::BlockAbandoned { .. }
        | StreamEvent::MessageStop
        | StreamEvent::Ping
        | StreamEvent::Error(_) => 0,
    }
}

/// About the bytes of a value: those of its output for debugging, which is not kept.
fn printed_bytes(value: &impl fmt::Debug) -> usize {
    let mut count = ByteCounter(0);
    // Counting cannot fail.
    let _ = write!(count, "{value:?}");
    count.0
}

/// Counts the bytes written to it.
struct ByteCounter(usize);

impl Write for ByteCounter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.saturating_add(text.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, ReadContext, StreamReader};

    fn error(events: &[StreamEvent]) -> Option<&str> {
        events.iter().find_map(|event| match event {
            StreamEvent::Error(error) => error.code.as_deref(),
            _ => None,
        })
    }

    #[test]
    fn a_stream_that_never_ends_is_cut_off() {
        let mut reader = StreamReader::new(Dialect::Chat, ReadContext::default());
        let text = "x".repeat(15 << 20);
        let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
        let mut pushed = 0;
        let code = loop {
            pushed += 1;
            let events = reader.push(event.as_bytes());
            if let Some(code) = error(&events) {
                break code.to_owned();
            }
            assert!(pushed < 20, "it goes on");
        };
        assert_eq!(code, "upstream-response-too-large");
        assert_eq!(pushed, MAX_RESPONSE_BYTES / text.len() + 1);
        assert!(reader.is_ended());
        assert!(reader.push(event.as_bytes()).is_empty());
    }

    #[test]
    fn blocks_without_text_count_too() {
        let block = |index| StreamEvent::BlockDelta {
            index,
            delta: Delta::Rest(serde_json::Map::new()),
        };
        let events: Vec<StreamEvent> = (0..10_000).map(block).collect();
        let mut size = StreamSize::default();
        let most = MAX_RESPONSE_BYTES / EVENT_BYTES / events.len();
        for _ in 0..most / 2 {
            assert!(!size.exceeds_limit_with(&events));
        }
        let exceeded = (0..most).any(|_| size.exceeds_limit_with(&events));
        assert!(exceeded);
    }
}
