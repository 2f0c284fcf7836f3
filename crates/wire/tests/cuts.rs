//! Streams mean the same however the network cuts them, and nothing makes a reader fail
//! otherwise than with an error event.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod support;

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use prowess_wire::hosting::AnthropicHost;
use prowess_wire::neutral::{ResponseCollector, StreamEvent, replay};
use prowess_wire::{Dialect, StreamReader};
use serde_json::{Value, json};
use support::{UPSTREAMS, assert_well_formed, context, events, file, folder, wire_bytes};

static STREAMS: LazyLock<Vec<(Dialect, Vec<u8>)>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for (dialect, name) in UPSTREAMS {
        for (_, fixture) in folder(&format!("streams/{name}")) {
            all.push((dialect, wire_bytes(dialect, &fixture)));
        }
    }
    all
});

#[test]
fn a_stream_that_comes_byte_by_byte_means_the_same() {
    for (dialect, bytes) in STREAMS.iter() {
        let every: Vec<usize> = (0..bytes.len()).collect();
        assert_eq!(
            events(*dialect, bytes, &every),
            events(*dialect, bytes, &[])
        );
    }
}

#[test]
fn a_stream_that_ends_early_anywhere_ends_with_an_error_or_its_end() {
    for (dialect, bytes) in STREAMS.iter() {
        for end in (0..bytes.len()).step_by(5) {
            assert_well_formed(&events(*dialect, &bytes[..end], &[]));
        }
    }
}

#[test]
fn a_collected_stream_replayed_and_collected_again_is_the_same_answer() {
    for (dialect, bytes) in STREAMS.iter() {
        let mut collector = ResponseCollector::new(*dialect);
        let result: Result<Vec<()>, _> = events(*dialect, bytes, &[])
            .into_iter()
            .map(|event| collector.push(event))
            .collect();
        if result.is_err() {
            continue;
        }
        let whole = collector.finish().unwrap();
        let mut again = ResponseCollector::new(*dialect);
        for event in replay(whole.clone()) {
            again.push(event).unwrap();
        }
        assert_eq!(again.finish().unwrap(), whole);
    }
}

/// Bedrock's frames around the events of a Messages stream; `wrap` makes their payload.
fn in_frames(sse: &[u8], wrap: fn(&str) -> Value) -> Vec<u8> {
    let mut frames = Vec::new();
    let lines = std::str::from_utf8(sse).unwrap().lines();
    for data in lines.filter_map(|line| line.strip_prefix("data: ")) {
        let frame = prowess_wire::event_stream::Frame {
            headers: vec![
                (":message-type".to_owned(), "event".to_owned()),
                (":event-type".to_owned(), "chunk".to_owned()),
            ],
            payload: wrap(data).to_string().into_bytes(),
        };
        prowess_wire::event_stream::write_frame(&frame, &mut frames).unwrap();
    }
    frames
}

fn bedrock_events(frames: &[u8]) -> Vec<StreamEvent> {
    let mut reader = StreamReader::for_bedrock_invoke(context());
    let mut found = reader.push(frames);
    found.extend(reader.finish());
    found
}

#[test]
fn bedrock_frames_around_messages_events_mean_what_the_events_mean() {
    let sse = file("streams/messages/thinking_text_and_parallel_calls.sse");
    let expected = events(Dialect::Messages, &sse, &[]);
    let as_bedrock = in_frames(&sse, |event| json!({"bytes": STANDARD.encode(event)}));
    assert_eq!(bedrock_events(&as_bedrock), expected);
    let as_stand_ins = in_frames(&sse, |event| serde_json::from_str(event).unwrap());
    assert_eq!(bedrock_events(&as_stand_ins), expected);
    assert_eq!(
        AnthropicHost::Bedrock.classic_version(),
        "bedrock-2023-05-31"
    );
}

#[test]
fn a_bedrock_frame_without_an_event_is_an_error_that_names_what_is_missing() {
    let sse = file("streams/messages/thinking_text_and_parallel_calls.sse");
    let found = bedrock_events(&in_frames(&sse, |_| json!({"p": "abc"})));
    let [StreamEvent::Error(error)] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(error.code.as_deref(), Some("missing-field"));
    assert!(
        error.message.ends_with("bytes: Field required"),
        "{error:?}"
    );
}

proptest! {
    #[test]
    fn any_cut_of_any_stream_gives_the_same_events(
        which in any::<prop::sample::Index>(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let (dialect, bytes) = which.get(&STREAMS);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        cuts.sort_unstable();
        prop_assert_eq!(events(*dialect, bytes, &cuts), events(*dialect, bytes, &[]));
    }

    #[test]
    fn no_bytes_make_a_reader_panic_or_break_its_promises(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        for (dialect, _) in UPSTREAMS {
            assert_well_formed(&events(dialect, &bytes, &[bytes.len() / 2]));
        }
    }

    #[test]
    fn a_damaged_stream_never_breaks_a_readers_promises(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let (dialect, bytes) = which.get(&STREAMS);
        let mut bytes = bytes.clone();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let found = events(*dialect, &bytes, &[at]);
        assert_well_formed(&found);
    }
}
