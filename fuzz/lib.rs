//! The checks of the targets for `prowess-wire`. Each takes any bytes and panics when the
//! code under test breaks a promise; the files in `fuzz_targets` only call them.
//!
//! Where an input is for one of several dialects, its first byte selects the dialect.

use std::ops::Range;

use prowess_wire::event_stream::{Frame, FrameDecoder, FrameError, write_frame};
use prowess_wire::form::FormScanner;
use prowess_wire::neutral::StreamEvent;
use prowess_wire::sse::{SseError, SseEvent, SseParser, write_text};
use prowess_wire::{
    ClientDialect, Dialect, ReadContext, ReplyContext, StreamReader, StreamWriter, WriteOptions,
    read_request, write_request,
};

/// The content type of every form.
pub const FORM_TYPE: &str = "multipart/form-data; boundary=b";

/// Every client dialect, by the byte that selects it.
pub const CLIENTS: [ClientDialect; 4] = [
    ClientDialect::Messages,
    ClientDialect::Chat,
    ClientDialect::Responses,
    ClientDialect::Gemini,
];

/// Every upstream dialect, by the byte that selects it.
pub const UPSTREAMS: [Dialect; 5] = [
    Dialect::Messages,
    Dialect::Chat,
    Dialect::Responses,
    Dialect::Gemini,
    Dialect::Converse,
];

/// Events larger than this are refused by the parser under test.
const MAX_EVENT_BYTES: usize = 1024;

/// A form: the chunks in which it arrives make no difference, and the model is where it is said
/// to be.
pub fn check_form(bytes: &[u8]) {
    let whole = form_model(&[bytes]);
    let (head, tail) = bytes.split_at(bytes.len() / 2);
    assert_eq!(form_model(&[head, tail]), whole);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(form_model(&single), whole);
    if let Some(Some((name, place))) = whole {
        assert_eq!(bytes.get(place), Some(name.as_bytes()));
    }
}

/// The model of a form, unless the form is refused.
fn form_model(chunks: &[&[u8]]) -> Option<Option<(String, Range<usize>)>> {
    let mut scanner = FormScanner::new(FORM_TYPE).ok()?;
    for chunk in chunks {
        scanner.push(chunk).ok()?;
    }
    scanner.finish().ok()?;
    Some(scanner.model().map(|(name, place)| (name.to_owned(), place)))
}

/// Server-sent events: the chunks in which bytes arrive make no difference, and an event
/// that is written again is read as the same event.
pub fn check_sse(bytes: &[u8]) {
    let whole = sse_events(&[bytes]);
    let (head, tail) = bytes.split_at(bytes.len() / 2);
    assert_eq!(sse_events(&[head, tail]), whole);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(sse_events(&single), whole);
    for event in whole.0 {
        assert!(event.data.len() <= MAX_EVENT_BYTES);
        let mut written = Vec::new();
        write_text(&mut written, &event.event, &event.data);
        assert_eq!(sse_events(&[&written]).0, [event]);
    }
}

fn sse_events(chunks: &[&[u8]]) -> (Vec<SseEvent>, Result<(), SseError>) {
    let mut parser = SseParser::new(MAX_EVENT_BYTES);
    let mut events = Vec::new();
    for chunk in chunks {
        if let Err(error) = parser.push(chunk, &mut events) {
            return (events, Err(error));
        }
    }
    match parser.finish() {
        Ok(last) => {
            events.extend(last);
            (events, Ok(()))
        }
        Err(error) => (events, Err(error)),
    }
}

/// AWS frames: as they are, and with the lengths and checksums that make their headers be
/// read. A frame that is read and written again is read as the same frame.
pub fn check_frames(bytes: &[u8]) {
    check_chunks(bytes);
    let Some((length, rest)) = bytes.split_first() else {
        return;
    };
    let (headers, payload) = rest.split_at(usize::from(*length).min(rest.len()));
    let complete = frame(headers, payload);
    check_chunks(&complete);
    if let (frames, Ok(())) = frames(&[&complete]) {
        assert_eq!((frames.len(), frames[0].payload.as_slice()), (1, payload));
        let mut written = Vec::new();
        write_frame(&frames[0], &mut written).expect("headers within the format's limits");
        assert_eq!(self::frames(&[&written]), (frames, Ok(())));
    }
}

fn check_chunks(bytes: &[u8]) {
    let (head, tail) = bytes.split_at(bytes.len() / 2);
    assert_eq!(frames(&[head, tail]), frames(&[bytes]));
}

fn frames(chunks: &[&[u8]]) -> (Vec<Frame>, Result<(), FrameError>) {
    let mut decoder = FrameDecoder::default();
    let mut frames = Vec::new();
    for chunk in chunks {
        if let Err(error) = decoder.push(chunk, &mut frames) {
            return (frames, Err(error));
        }
    }
    (frames, decoder.finish())
}

fn frame(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let total = u32::try_from(headers.len() + payload.len() + 16).expect("a small input");
    let length = u32::try_from(headers.len()).expect("a small input");
    let mut out = [total.to_be_bytes(), length.to_be_bytes()].concat();
    out.extend(crc32fast::hash(&out).to_be_bytes());
    out.extend(headers);
    out.extend(payload);
    out.extend(crc32fast::hash(&out).to_be_bytes());
    out
}

/// A client's request: refused with a message, or written for every upstream.
pub fn check_request(bytes: &[u8]) {
    let Some((client, body)) = select(&CLIENTS, bytes) else {
        return;
    };
    let Ok(request) = read_request(client, body) else {
        return;
    };
    for upstream in UPSTREAMS {
        match write_request(upstream, &request, &WriteOptions::default()) {
            Ok(encoded) => assert!(encoded.body.is_object()),
            Err(error) => assert!(!error.to_api_error().message.is_empty()),
        }
    }
}

/// An upstream's stream: well formed events, the same for any chunks, that every client's
/// writer accepts. Frames of Converse are given as lines of an event type and its payload.
pub fn check_stream(bytes: &[u8]) {
    let Some((upstream, input)) = select(&UPSTREAMS, bytes) else {
        return;
    };
    let framed;
    let stream = if upstream == Dialect::Converse {
        framed = converse_frames(input);
        framed.as_slice()
    } else {
        input
    };
    let events = events(upstream, &[stream]);
    assert_well_formed(&events);
    let (head, tail) = stream.split_at(stream.len() / 2);
    assert_eq!(self::events(upstream, &[head, tail]), events);
    for client in CLIENTS {
        let mut writer = StreamWriter::new(client, ReplyContext::default());
        let mut out = Vec::new();
        for event in &events {
            writer.write(event, &mut out);
        }
        let text = std::str::from_utf8(&out).expect("a stream is text");
        // Errors for Gemini's clients are outside of any event.
        assert!(client == ClientDialect::Gemini || text.ends_with("\n\n"));
    }
}

fn select<'b, D: Copy>(dialects: &[D], bytes: &'b [u8]) -> Option<(D, &'b [u8])> {
    let (first, rest) = bytes.split_first()?;
    Some((dialects[usize::from(*first) % dialects.len()], rest))
}

/// The frames of lines such as `messageStart {"role":"assistant"}`.
pub fn converse_frames(lines: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let end = line
            .iter()
            .position(|byte| *byte == b' ')
            .unwrap_or(line.len());
        let header = |name: &str, value: String| (name.to_owned(), value);
        let kind = String::from_utf8_lossy(&line[..end]).into_owned();
        let frame = Frame {
            headers: vec![
                header(":message-type", "event".to_owned()),
                header(":event-type", kind),
            ],
            payload: line[end..].to_vec(),
        };
        // A name that is too long for a header is left out.
        let _ = write_frame(&frame, &mut out);
    }
    out
}

fn events(upstream: Dialect, chunks: &[&[u8]]) -> Vec<StreamEvent> {
    let mut reader = StreamReader::new(upstream, ReadContext::default().with_id("msg_1"));
    let mut events = Vec::new();
    for chunk in chunks {
        events.extend(reader.push(chunk));
    }
    events.extend(reader.finish());
    events
}

/// One start, dense indexes, one block at a time, one end.
fn assert_well_formed(events: &[StreamEvent]) {
    let (mut started, mut next, mut open) = (false, 0, None);
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
    assert!(
        matches!(end, Some(StreamEvent::MessageStop | StreamEvent::Error(_))),
        "no end: {end:?}"
    );
}
