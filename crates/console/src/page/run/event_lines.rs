//! Server-sent events of the API, read as they come.

use super::step::WatchedStep;

/// Bytes of one event; a longer one ends the stream.
const MAX_EVENT_BYTES: usize = 1 << 20;

/// Collects bytes until events are complete.
#[derive(Debug, Default)]
pub(crate) struct EventLines {
    pending: Vec<u8>,
}

/// An event.
#[derive(Debug)]
pub(crate) enum ReadEvent {
    /// What happened, under its number.
    Step(u64, Box<WatchedStep>),
    /// A comment that keeps the connection open.
    Ping,
}

impl EventLines {
    /// Takes more bytes, and returns the events that are complete. None if an event is too long.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Option<Vec<ReadEvent>> {
        self.pending.extend_from_slice(bytes);
        let mut events = Vec::new();
        let mut from = 0;
        while let Some(end) = find_end(self.pending.get(from..)?) {
            let text = String::from_utf8_lossy(self.pending.get(from..from + end)?);
            events.extend(read_event(&text));
            from += end + 2;
        }
        self.pending.drain(..from);
        (self.pending.len() <= MAX_EVENT_BYTES).then_some(events)
    }
}

/// Where the first event ends.
fn find_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(2).position(|pair| pair == b"\n\n")
}

fn read_event(text: &str) -> Option<ReadEvent> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    match field("data: ") {
        Some(data) => {
            let number = field("id: ")?.parse().ok()?;
            Some(ReadEvent::Step(number, serde_json::from_str(data).ok()?))
        }
        None => text.starts_with(':').then_some(ReadEvent::Ping),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_from_any_pieces() {
        let stream = "id: 3\ndata: {\"kind\":\"text\",\"text\":\"ü\"}\n\n: ping\n\nid: 4\nda";
        for size in [1, 2, 7, 100] {
            let mut lines = EventLines::default();
            let chunks = stream.as_bytes().chunks(size);
            let events: Vec<ReadEvent> = chunks.flat_map(|it| lines.push(it).unwrap()).collect();
            let [ReadEvent::Step(3, step), ReadEvent::Ping] = events.as_slice() else {
                panic!("{events:?}");
            };
            assert_eq!(step.text.as_deref(), Some("ü"));
        }
    }

    #[test]
    fn an_endless_event_ends_the_stream() {
        let mut lines = EventLines::default();
        assert!(lines.push(&vec![b'x'; MAX_EVENT_BYTES]).is_some());
        assert!(lines.push(b"x").is_none());
    }
}
