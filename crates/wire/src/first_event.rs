//! The first event of a stream that is passed through: whether it is an error. Only that event is
//! read; the bytes are the caller's to pass on.

use crate::ClientDialect;
use crate::context::ReadContext;
use crate::neutral::{ApiError, StreamEvent};
use crate::raw::RawObject;
use crate::sse::{self, SseEvent, SseParser};
use crate::streams::StreamReader;

/// The first event of a stream of server-sent events.
#[derive(Debug, Clone, PartialEq)]
pub enum FirstEvent {
    /// An error: the response has not begun.
    Error(Box<ApiError>),
    /// Anything else, in the form of its dialect or not.
    Other,
}

/// Finds the first event of a stream of server-sent events, in any chunks.
#[derive(Debug)]
pub struct FirstEventFinder {
    client: ClientDialect,
    parser: SseParser,
}

impl FirstEventFinder {
    /// A finder for a stream in this dialect.
    pub fn new(client: ClientDialect) -> Self {
        FirstEventFinder {
            client,
            parser: SseParser::default(),
        }
    }

    /// Adds bytes. Returns the first event once it is complete; comments and empty events are
    /// none.
    pub fn push(&mut self, bytes: &[u8]) -> Option<FirstEvent> {
        let mut events = Vec::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.parser.push(line, &mut events).is_err() {
                return Some(FirstEvent::Other);
            }
            if let Some(event) = events.first() {
                return Some(self.read(event));
            }
        }
        None
    }

    /// The end of the bytes: the event without its blank line, if there is one.
    pub fn finish(&mut self) -> FirstEvent {
        match self.parser.finish() {
            Ok(Some(event)) => self.read(&event),
            Ok(None) | Err(_) => FirstEvent::Other,
        }
    }

    fn read(&self, event: &SseEvent) -> FirstEvent {
        if !is_named_or_has_error(event) {
            return FirstEvent::Other;
        }
        // As a translated stream is read, so that an error has the same kind and status.
        let mut text = Vec::new();
        sse::write_text(&mut text, &event.event, &event.data);
        let mut reader = StreamReader::new(self.client.into(), ReadContext::default());
        let mut events = reader.push(&text).into_iter();
        let error = events.find_map(|event| match event {
            StreamEvent::Error(error) => Some(error),
            _ => None,
        });
        error.map_or(FirstEvent::Other, |error| {
            FirstEvent::Error(Box::new(error))
        })
    }
}

/// Whether an event is an error by its name, its type or a field. That a dialect's reader cannot
/// read an event does not make it one.
fn is_named_or_has_error(event: &SseEvent) -> bool {
    if event.event == sse::ERROR_EVENT {
        return true;
    }
    // Nearly all first events end here.
    if !event.data.contains("\"error\"") {
        return false;
    }
    let Ok(fields) = RawObject::parse(event.data.as_bytes()) else {
        return false;
    };
    let kind = fields.get_str("type");
    matches!(kind.as_deref(), Some("error" | "response.failed"))
        || fields.get("error").is_some_and(|error| error != "null")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neutral::ErrorKind;

    /// What a stream begins with, whole and byte by byte.
    fn first(client: ClientDialect, text: &str) -> Option<FirstEvent> {
        let whole = FirstEventFinder::new(client).push(text.as_bytes());
        let mut finder = FirstEventFinder::new(client);
        let mut bytes = text.as_bytes().chunks(1);
        assert_eq!(bytes.find_map(|byte| finder.push(byte)), whole);
        whole
    }

    fn error(client: ClientDialect, text: &str) -> Option<(ErrorKind, u16)> {
        match first(client, text)? {
            FirstEvent::Error(error) => Some((error.kind, error.status)),
            FirstEvent::Other => None,
        }
    }

    #[test]
    fn an_error_in_the_form_of_each_dialect_is_one() {
        let overloaded = Some((ErrorKind::Overloaded, 529));
        for (client, text) in [
            (
                ClientDialect::Messages,
                "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
            ),
            (
                ClientDialect::Chat,
                ": processing\n\ndata: {\"error\":{\"message\":\"x\",\"type\":\"overloaded_error\"}}\r\n\r\n",
            ),
            (
                ClientDialect::Responses,
                "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"x\",\"code\":\"server_is_overloaded\"}}\n\n",
            ),
            (
                ClientDialect::Responses,
                "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_is_overloaded\",\"message\":\"x\"}}}\n\n",
            ),
        ] {
            assert_eq!(error(client, text), overloaded, "{text}");
        }
        let google =
            "data: {\"error\":{\"code\":503,\"message\":\"x\",\"status\":\"UNAVAILABLE\"}}\n\n";
        let status = error(ClientDialect::Gemini, google).map(|(_, status)| status);
        assert_eq!(status, Some(503));
        let bare = "error: {\"message\":\"full\"}\n\n";
        assert!(error(ClientDialect::Chat, bare).is_some());
    }

    #[test]
    fn anything_else_is_no_error() {
        for (client, text) in [
            (
                ClientDialect::Messages,
                "event: ping\ndata: {\"type\":\"ping\"}\n\n",
            ),
            (
                ClientDialect::Responses,
                "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"error\":null}}\n\n",
            ),
            (
                ClientDialect::Chat,
                "data: {\"choices\":[],\"error\":null}\n\n",
            ),
            // In no dialect's form: the client decides what it is.
            (ClientDialect::Messages, "data: {nonsense \"error\"\n\n"),
            (ClientDialect::Messages, "data: {}\n\n"),
            // Only the first event counts.
            (
                ClientDialect::Chat,
                "data: {\"choices\":[]}\n\ndata: {\"error\":{\"message\":\"x\"}}\n\n",
            ),
        ] {
            assert_eq!(first(client, text), Some(FirstEvent::Other), "{text}");
        }
    }

    #[test]
    fn an_event_is_awaited_until_it_is_complete() {
        let mut finder = FirstEventFinder::new(ClientDialect::Chat);
        for part in [": keep-alive\n\n", "\n", "data: {\"error\":", "\"full\"}\n"] {
            assert_eq!(finder.push(part.as_bytes()), None, "{part}");
        }
        assert!(matches!(finder.finish(), FirstEvent::Error(_)));
        let mut empty = FirstEventFinder::new(ClientDialect::Chat);
        assert_eq!(empty.finish(), FirstEvent::Other);
    }
}
