//! Server-sent events: a parser for any chunks of bytes, and a writer.
//!
//! Framing only; the dialects interpret the data.

use serde::Serialize;

/// Default maximum bytes of one event.
pub const MAX_EVENT_BYTES: usize = 16 << 20;

/// The name of an error event.
pub(crate) const ERROR_EVENT: &str = "error";

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The event's name; empty when it has none.
    pub event: String,
    /// Its data, lines joined by `\n`.
    pub data: String,
}

/// Why bytes are not a stream of events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event is bigger than allowed.
    #[error("an event of the stream has more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// An event is not text.
    #[error("an event of the stream is not valid UTF-8")]
    NotUtf8,
}

impl SseError {
    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            SseError::TooLarge { .. } => "stream-event-too-large",
            SseError::NotUtf8 => "stream-not-utf8",
        }
    }
}

/// Reads events from bytes as they come, cut anywhere.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    line: Vec<u8>,
    event: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return: a line feed now belongs to it.
    after_cr: bool,
    at_start: bool,
}

impl Default for SseParser {
    fn default() -> Self {
        SseParser::new(MAX_EVENT_BYTES)
    }
}

impl SseParser {
    /// A parser that refuses events of more than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        SseParser {
            limit,
            line: Vec::new(),
            event: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            at_start: true,
        }
    }

    /// Takes the next bytes and appends the events they complete.
    pub fn push(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        if self.after_cr
            && let Some((first, rest)) = bytes.split_first()
        {
            self.after_cr = false;
            if *first == b'\n' {
                bytes = rest;
            }
        }
        while let Some(end) = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            let (part, tail) = bytes.split_at(end);
            self.extend_line(part)?;
            bytes = match tail {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, rest @ ..] => rest,
                [] => &[],
            };
            events.extend(self.end_line()?);
        }
        self.extend_line(bytes)
    }

    /// The last event, of a stream that ends without its blank line.
    pub fn finish(&mut self) -> Result<Option<SseEvent>, SseError> {
        let last = self.end_line()?;
        match last {
            Some(event) => Ok(Some(event)),
            None => self.dispatch(),
        }
    }

    fn extend_line(&mut self, part: &[u8]) -> Result<(), SseError> {
        if self.line.len() + self.data.len() + part.len() > self.limit {
            return Err(SseError::TooLarge { limit: self.limit });
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseError> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.at_start) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        self.field(&line);
        line.clear();
        self.line = line;
        Ok(None)
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|b| *b == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.event.clear();
                self.event.extend_from_slice(value);
            }
            // Not in the standard: llama.cpp and its derivatives report failures this way.
            b"error" => self.failure(value),
            // A server that fails while it streams may write its usual error body.
            _ if is_error_body(line) => self.failure(line),
            // A comment, or `id` and `retry`, which no model's stream uses.
            _ => {}
        }
    }

    /// A failure outside any event becomes one, named as servers name theirs.
    fn failure(&mut self, body: &[u8]) {
        self.event = ERROR_EVENT.as_bytes().to_vec();
        self.data = body.to_vec();
        self.has_data = true;
    }

    fn dispatch(&mut self) -> Result<Option<SseEvent>, SseError> {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        // As the standard has it: servers and proxies send empty data as a sign of life.
        if !std::mem::take(&mut self.has_data) || data.is_empty() {
            return Ok(None);
        }
        Ok(Some(SseEvent {
            event: String::from_utf8(event).map_err(|_| SseError::NotUtf8)?,
            data: String::from_utf8(data).map_err(|_| SseError::NotUtf8)?,
        }))
    }
}

/// Whether a line that is no field is a JSON object with an error.
fn is_error_body(line: &[u8]) -> bool {
    let key = b"\"error\"";
    line.starts_with(b"{") && line.windows(key.len()).any(|bytes| bytes == key)
}

/// Writes an event with JSON data; an empty name is omitted.
pub fn write_json(out: &mut Vec<u8>, event: &str, data: &impl Serialize) {
    write_name(out, event);
    out.extend_from_slice(b"data: ");
    // Our own values always serialise; a failure would leave an empty data line,
    // which every parser reports.
    let _ = serde_json::to_writer(&mut *out, data);
    out.extend_from_slice(b"\n\n");
}

/// Writes an event of any text.
pub fn write_text(out: &mut Vec<u8>, event: &str, data: &str) {
    write_name(out, event);
    for line in data.split('\n') {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out.push(b'\n');
}

fn write_name(out: &mut Vec<u8>, event: &str) {
    if !event.is_empty() {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(event.as_bytes());
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(bytes: &[u8], cuts: &[usize]) -> Result<Vec<SseEvent>, SseError> {
        let mut parser = SseParser::new(1000);
        let mut events = Vec::new();
        let mut from = 0;
        for cut in cuts.iter().copied().chain([bytes.len()]) {
            parser.push(&bytes[from..cut.max(from)], &mut events)?;
            from = cut.max(from);
        }
        events.extend(parser.finish()?);
        Ok(events)
    }

    fn check(text: &str, expected: &[(&str, &str)]) {
        let events = parse(text.as_bytes(), &[]).unwrap();
        let found: Vec<_> = events
            .iter()
            .map(|e| (e.event.as_str(), e.data.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn named_and_nameless_events_are_read() {
        check("event: a\ndata: 1\n\ndata:2\n\n", &[("a", "1"), ("", "2")]);
    }

    #[test]
    fn all_three_line_ends_mean_the_same() {
        check(
            "data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n",
            &[("", "1"), ("", "2"), ("", "3")],
        );
    }

    #[test]
    fn comments_ids_and_a_byte_order_mark_are_skipped() {
        check(
            "\u{feff}data: 1\n: keep-alive\nid: 7\nretry: 3\n\n:\n\n",
            &[("", "1")],
        );
    }

    #[test]
    fn lines_of_data_are_joined() {
        check("data: a\ndata\ndata:  b\n\n", &[("", "a\n\n b")]);
    }

    #[test]
    fn an_event_without_data_is_no_event_and_its_name_is_forgotten() {
        check("event: a\n\ndata: 1\n\n", &[("", "1")]);
    }

    #[test]
    fn empty_data_is_no_event() {
        check(
            "data:\n\ndata: \n\nevent: ping\ndata:\n\ndata: 1\n\ndata: ",
            &[("", "1")],
        );
    }

    #[test]
    fn a_failure_outside_the_events_is_one_of_them() {
        check(
            "data: 1\n\nerror: {\"message\":\"full\"}\n\n",
            &[("", "1"), ("error", "{\"message\":\"full\"}")],
        );
        check(
            "data: 1\n\n{\"error\": {\"message\": \"full\"}}\n",
            &[("", "1"), ("error", "{\"error\": {\"message\": \"full\"}}")],
        );
        check("{\"a\": 1}\n\n", &[]);
    }

    #[test]
    fn the_last_event_may_lack_its_blank_line() {
        check("data: 1\n\ndata: [DONE]", &[("", "1"), ("", "[DONE]")]);
    }

    #[test]
    fn an_event_over_the_limit_is_refused() {
        let text = format!("data: {}", "x".repeat(2000));
        assert_eq!(
            parse(text.as_bytes(), &[]),
            Err(SseError::TooLarge { limit: 1000 })
        );
        let many = "data: xxxxxxxxxxxxxxxxxxxxxxxxxxx\n".repeat(100);
        assert_eq!(
            parse(many.as_bytes(), &[]),
            Err(SseError::TooLarge { limit: 1000 })
        );
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut out = Vec::new();
        write_text(&mut out, "n", "a\nb");
        write_json(&mut out, "", &serde_json::json!({"t": "x\ny"}));
        let events = parse(&out, &[]).unwrap();
        assert_eq!(events[0].data, "a\nb");
        assert_eq!(events[1].data, r#"{"t":"x\ny"}"#);
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_events(
            text in "(event: [a-c]|data: ?[a-zé]{0,5}|:c|\r\n|\n|\r|\n\n){0,30}",
            cuts in proptest::collection::vec(0usize..200, 0..6),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<_> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.sort_unstable();
            prop_assert_eq!(parse(bytes, &cuts), parse(bytes, &[]));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes, &[bytes.len() / 2]);
        }
    }
}
