//! Numbers the server-sent events of a run, so that a client can continue after any of them.

/// Numbers events, and leaves out those that a client has.
#[derive(Debug)]
pub(super) struct NumberedEvents {
    /// The number of the next event.
    next: u64,
    /// The number of the first event that the client gets.
    first: u64,
    /// Whether events carry their numbers as ids.
    adds_ids: bool,
}

impl NumberedEvents {
    /// Events after number `after`; all without it.
    pub(super) fn new(after: Option<u64>, adds_ids: bool) -> Self {
        NumberedEvents {
            next: 0,
            first: after.map_or(0, |after| after.saturating_add(1)),
            adds_ids,
        }
    }

    /// Appends the events in `bytes` that the client gets. Comments have no number.
    pub(super) fn write(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for event in split_events(bytes) {
            if event.starts_with(b":") || event == b"\n\n" {
                if self.next >= self.first {
                    out.extend_from_slice(event);
                }
                continue;
            }
            let number = self.next;
            self.next += 1;
            if number < self.first {
                continue;
            }
            if self.adds_ids {
                out.extend_from_slice(format!("id: {number}\n").as_bytes());
            }
            out.extend_from_slice(event);
        }
    }
}

/// Splits after each empty line.
fn split_events(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let end = memchr::memmem::find(bytes, b"\n\n").map_or(bytes.len(), |at| at + 2);
        let (event, rest) = bytes.split_at(end);
        bytes = rest;
        Some(event)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_continues_after_any_event() {
        let stream = b"event: a\ndata: 1\n\n: ping\n\ndata: 2\n\ndata: 3\n\n";
        let write = |after| {
            let mut out = Vec::new();
            NumberedEvents::new(after, true).write(stream, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            write(None),
            "id: 0\nevent: a\ndata: 1\n\n: ping\n\nid: 1\ndata: 2\n\nid: 2\ndata: 3\n\n"
        );
        assert_eq!(
            write(Some(0)),
            ": ping\n\nid: 1\ndata: 2\n\nid: 2\ndata: 3\n\n"
        );
        assert_eq!(write(Some(1)), "id: 2\ndata: 3\n\n");
        assert_eq!(write(Some(9)), "");
    }

    #[test]
    fn numbers_continue_over_writes() {
        let mut events = NumberedEvents::new(Some(0), false);
        let mut out = Vec::new();
        events.write(b"data: 1\n\n", &mut out);
        events.write(b"data: 2\n\n", &mut out);
        assert_eq!(out, b"data: 2\n\n");
    }
}
