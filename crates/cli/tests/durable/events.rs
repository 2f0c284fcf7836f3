//! Server-sent events as a client reads them.

use serde_json::Value;

/// An event with its number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NumberedEvent {
    pub(crate) number: u64,
    /// The whole event, as sent.
    pub(crate) text: String,
    /// Its data; a string if it is not JSON.
    pub(crate) data: Value,
}

/// The events of a stream without its comments. Their numbers are their ids, or the sequence
/// numbers of the Responses API.
pub(crate) fn parse_events(text: &str) -> Vec<NumberedEvent> {
    let events = text
        .split_inclusive("\n\n")
        .filter(|event| event.ends_with("\n\n"));
    // Pings are comments, or nothing at all.
    let events = events.filter(|event| !event.starts_with(':') && *event != "\n\n");
    let parsed = events.map(|event| {
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        let data = field("data: ").unwrap();
        let data: Value = serde_json::from_str(data).unwrap_or_else(|_| data.into());
        let number = field("id: ").map(|id| id.parse().unwrap());
        let number = number.or(data["sequence_number"].as_u64());
        NumberedEvent {
            number: number.unwrap(),
            text: event.to_owned(),
            data,
        }
    });
    parsed.collect()
}

/// Stops the test unless the events are numbered without a gap.
pub(crate) fn assert_dense(events: &[NumberedEvent], first: u64) {
    let numbers = events.iter().map(|event| event.number);
    let expected = first..first + events.len() as u64;
    assert!(numbers.eq(expected), "{events:#?}");
}
