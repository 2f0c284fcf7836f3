//! Fixtures and checks the test files share.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    dead_code,
    reason = "helpers of tests, and not every test file uses all of them"
)]

pub(crate) mod exchange;

use std::path::{Path, PathBuf};

use prowess_wire::event_stream::{Frame, write_frame};
use prowess_wire::neutral::StreamEvent;
use prowess_wire::{ClientDialect, Dialect, ReadContext, StreamReader};
use serde_json::Value;

pub(crate) const CLIENTS: [(ClientDialect, &str); 3] = [
    (ClientDialect::Messages, "messages"),
    (ClientDialect::Chat, "chat"),
    (ClientDialect::Responses, "responses"),
];

pub(crate) const UPSTREAMS: [(Dialect, &str); 5] = [
    (Dialect::Messages, "messages"),
    (Dialect::Chat, "chat"),
    (Dialect::Responses, "responses"),
    (Dialect::Gemini, "gemini"),
    (Dialect::Converse, "converse"),
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The fixtures of a folder: name and bytes, in order.
pub(crate) fn folder(path: &str) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = std::fs::read_dir(fixtures().join(path))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    found.sort();
    assert!(!found.is_empty(), "no fixtures in {path}");
    found
}

pub(crate) fn file(path: &str) -> Vec<u8> {
    std::fs::read(fixtures().join(path)).unwrap()
}

/// A stream fixture as the bytes of its wire.
pub(crate) fn wire_bytes(dialect: Dialect, fixture: &[u8]) -> Vec<u8> {
    if dialect != Dialect::Converse {
        return fixture.to_vec();
    }
    let mut out = Vec::new();
    for line in std::str::from_utf8(fixture).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let headers = line["headers"].as_object().unwrap();
        let frame = Frame {
            headers: headers
                .iter()
                .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
                .collect(),
            payload: line["payload"].to_string().into_bytes(),
        };
        write_frame(&frame, &mut out).unwrap();
    }
    out
}

pub(crate) fn context() -> ReadContext {
    let mut context = ReadContext::default().with_id("msg_made");
    context.model = "asked-for".to_owned();
    context
}

/// All events of a stream whose bytes are cut at these places.
pub(crate) fn events(dialect: Dialect, bytes: &[u8], cuts: &[usize]) -> Vec<StreamEvent> {
    let mut reader = StreamReader::new(dialect, context());
    let mut out = Vec::new();
    let mut from = 0;
    for cut in cuts.iter().copied().chain([bytes.len()]) {
        out.extend(reader.push(&bytes[from..cut]));
        from = cut;
    }
    out.extend(reader.finish());
    out
}

/// What every writer relies on: one start, dense indexes, one block at a time, one end.
pub(crate) fn assert_well_formed(events: &[StreamEvent]) {
    let mut next = 0;
    let mut open = None;
    let mut started = false;
    for (at, event) in events.iter().enumerate() {
        let last = at + 1 == events.len();
        match event {
            StreamEvent::MessageStart { .. } => {
                assert!(!started, "two starts");
                started = true;
            }
            StreamEvent::BlockStart { index, .. } => {
                assert_eq!((started, open, *index), (true, None, next));
                open = Some(next);
                next += 1;
            }
            StreamEvent::BlockDelta { index, .. } => assert_eq!(open, Some(*index)),
            StreamEvent::BlockStop { index } | StreamEvent::BlockAbandoned { index } => {
                assert_eq!(open, Some(*index));
                open = None;
            }
            StreamEvent::MessageDelta { .. } => assert_eq!(open, None),
            StreamEvent::MessageStop => assert!(last && open.is_none()),
            StreamEvent::Error(_) => assert!(last, "events after an error"),
            StreamEvent::Ping | StreamEvent::Other { .. } => {}
        }
    }
    let end = events.last();
    if !matches!(end, Some(StreamEvent::MessageStop | StreamEvent::Error(_))) {
        panic!("no end: {end:?}");
    }
}
