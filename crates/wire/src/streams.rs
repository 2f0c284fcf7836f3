//! Streams by name: bytes of an upstream in, neutral events between, bytes for a
//! client out.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::anthropic::{MessagesReader, MessagesWriter};
use crate::call_ids::UniqueCallIds;
use crate::chat::{ChatReader, ChatWriter};
use crate::context::{ReadContext, ReplyContext};
use crate::converse::ConverseReader;
use crate::dropped::Dropped;
use crate::error::WireError;
use crate::event_stream::{Frame, FrameDecoder};
use crate::excerpt::truncate_message;
use crate::fields::parse;
use crate::gemini::{GeminiReader, GeminiWriter};
use crate::lost_sources::StreamedSources;
use crate::neutral::{ApiError, ErrorKind, StreamEvent};
use crate::openai::read_error_value;
use crate::responses::{ResponsesReader, ResponsesWriter};
use crate::sse::{self, SseEvent, SseParser};
use crate::stop_sequences::StopSequenceFilter;
use crate::stream_size::{MAX_RESPONSE_BYTES, StreamSize};
use crate::{ClientDialect, Dialect};

/// Reads an upstream's stream, in any chunks, into neutral events.
///
/// Fields of an upstream's events that no codec understands are retained: those of Anthropic's
/// events where they were, those of the other dialects at the end, as every chunk repeats its
/// envelope.
///
/// It never fails: whatever is wrong with the stream becomes one last
/// [`StreamEvent::Error`], and what follows is ignored.
#[derive(Debug)]
pub struct StreamReader {
    frames: Framing,
    events: DialectReader,
    stops: Option<StopSequenceFilter>,
    call_ids: Option<UniqueCallIds>,
    size: StreamSize,
    failed: bool,
}

/// How events are cut out of the bytes.
#[derive(Debug)]
enum Framing {
    Sse(SseParser),
    /// Bedrock's frames.
    Aws(FrameDecoder),
}

/// The reader of a dialect's events.
#[derive(Debug)]
enum DialectReader {
    Messages(Box<MessagesReader>),
    Chat(Box<ChatReader>),
    Responses(Box<ResponsesReader>),
    Gemini(Box<GeminiReader>),
    Converse(Box<ConverseReader>),
}

impl StreamReader {
    /// A reader of an upstream's stream.
    pub fn new(upstream: Dialect, context: ReadContext) -> Self {
        let stops = StopSequenceFilter::new(&context.stop_sequences);
        let call_ids = context.call_ids.as_ref().map(UniqueCallIds::after);
        let sse = || Framing::Sse(SseParser::default());
        let (frames, events) = match upstream {
            Dialect::Messages => (
                sse(),
                DialectReader::Messages(Box::new(MessagesReader::new(context))),
            ),
            Dialect::Chat => (
                sse(),
                DialectReader::Chat(Box::new(ChatReader::new(context))),
            ),
            Dialect::Responses => {
                let reader = ResponsesReader::new(context);
                (sse(), DialectReader::Responses(Box::new(reader)))
            }
            Dialect::Gemini => (
                sse(),
                DialectReader::Gemini(Box::new(GeminiReader::new(context))),
            ),
            Dialect::Converse => {
                let reader = ConverseReader::new(context);
                let frames = Framing::Aws(FrameDecoder::default());
                (frames, DialectReader::Converse(Box::new(reader)))
            }
        };
        StreamReader {
            frames,
            events,
            stops,
            call_ids,
            size: StreamSize::default(),
            failed: false,
        }
    }

    /// A reader of Bedrock's InvokeModelWithResponseStream: Messages events in frames.
    pub fn for_bedrock_invoke(context: ReadContext) -> Self {
        let stops = StopSequenceFilter::new(&context.stop_sequences);
        let call_ids = context.call_ids.as_ref().map(UniqueCallIds::after);
        StreamReader {
            frames: Framing::Aws(FrameDecoder::default()),
            events: DialectReader::Messages(Box::new(MessagesReader::new(context))),
            stops,
            call_ids,
            size: StreamSize::default(),
            failed: false,
        }
    }

    /// Adds bytes and returns the events they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<StreamEvent> {
        let mut out = Vec::new();
        if self.is_ended() {
            return out;
        }
        match &mut self.frames {
            Framing::Sse(parser) => {
                let mut events = Vec::new();
                let parsed = parser.push(bytes, &mut events);
                for event in events {
                    self.event(&event, &mut out);
                }
                if let Err(error) = parsed {
                    self.fail(broken_stream(error.code(), &error), &mut out);
                }
            }
            Framing::Aws(decoder) => {
                let mut frames = Vec::new();
                let decoded = decoder.push(bytes, &mut frames);
                for frame in frames {
                    self.frame(&frame, &mut out);
                }
                if let Err(error) = decoded {
                    self.fail(broken_stream(error.code(), &error), &mut out);
                }
            }
        }
        if self.size.exceeds_limit_with(&out) {
            self.fail(too_large(), &mut out);
        }
        self.cut(out)
    }

    /// The end of the bytes: returns the remaining events, or an error for a truncated stream.
    pub fn finish(&mut self) -> Vec<StreamEvent> {
        let mut out = Vec::new();
        if let Framing::Sse(parser) = &mut self.frames
            && let Ok(Some(event)) = parser.finish()
        {
            self.event(&event, &mut out);
        }
        if self.is_ended() {
            return self.cut(out);
        }
        match &mut self.events {
            DialectReader::Messages(_) => self.fail(ApiError::truncated(), &mut out),
            DialectReader::Chat(reader) => reader.finish(&mut out),
            DialectReader::Responses(reader) => reader.finish(&mut out),
            DialectReader::Gemini(reader) => reader.finish(&mut out),
            DialectReader::Converse(reader) => reader.finish(&mut out),
        }
        self.cut(out)
    }

    /// Whether the response has ended, well or not; more bytes change nothing.
    pub fn is_ended(&self) -> bool {
        self.failed
            || match &self.events {
                DialectReader::Messages(reader) => reader.is_ended(),
                DialectReader::Chat(reader) => reader.is_ended(),
                DialectReader::Responses(reader) => reader.is_ended(),
                DialectReader::Gemini(reader) => reader.is_ended(),
                DialectReader::Converse(reader) => reader.is_ended(),
            }
    }

    /// An event named `error` is one, whatever its form.
    fn event(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>) {
        let data = event.data.as_bytes();
        match stray_error(&event.event, data) {
            Some(error) => self.fail(error, out),
            None => self.data(data, out),
        }
    }

    fn data(&mut self, data: &[u8], out: &mut Vec<StreamEvent>) {
        if self.is_ended() {
            return;
        }
        let read = match &mut self.events {
            DialectReader::Messages(reader) => reader.read_event(data, out),
            DialectReader::Chat(reader) => reader.read_event(data, out),
            DialectReader::Responses(reader) => reader.read_event(data, out),
            DialectReader::Gemini(reader) => reader.read_event(data, out),
            // Converse has no events outside frames.
            DialectReader::Converse(_) => Ok(()),
        };
        if let Err(error) = read {
            // Not in its dialect's form, but perhaps an error all the same.
            let body = parse(data).ok();
            let error_in_body = body.as_ref().and_then(inner_error);
            self.fail(
                error_in_body.unwrap_or_else(|| error.to_upstream_error()),
                out,
            );
        }
    }

    /// A frame is an event of Converse's, or holds one of Anthropic's.
    fn frame(&mut self, frame: &Frame, out: &mut Vec<StreamEvent>) {
        if self.is_ended() {
            return;
        }
        if let DialectReader::Converse(reader) = &mut self.events {
            if let Err(error) = reader.read_frame(frame, out) {
                self.fail(error.to_upstream_error(), out);
            }
            return;
        }
        if let Some(error) = crate::converse::read_exception(frame) {
            self.fail(error, out);
            return;
        }
        match invoke_event(&frame.payload) {
            Ok(data) => self.data(&data, out),
            Err(error) => self.fail(error.to_upstream_error(), out),
        }
    }

    /// The events for whoever reads them: with ids of calls that no other call has, and up to the
    /// first stop sequence.
    fn cut(&mut self, mut events: Vec<StreamEvent>) -> Vec<StreamEvent> {
        if let Some(call_ids) = &mut self.call_ids {
            call_ids.rename_streamed(&mut events);
        }
        match &mut self.stops {
            Some(cutter) => cutter.apply(events),
            None => events,
        }
    }

    fn fail(&mut self, error: ApiError, out: &mut Vec<StreamEvent>) {
        if !self.is_ended() {
            self.failed = true;
            out.push(StreamEvent::Error(error));
        }
    }
}

/// The error of an event that is named one, where it is not in its dialect's form: the
/// bare object or text of it. What is in that form is for the dialect's reader.
fn stray_error(name: &str, data: &[u8]) -> Option<ApiError> {
    if name != sse::ERROR_EVENT {
        return None;
    }
    let text = || String::from_utf8_lossy(data).trim().to_owned();
    let body = parse(data).unwrap_or_else(|_| Value::String(text()));
    if body.get("type").and_then(Value::as_str) == Some(sse::ERROR_EVENT) {
        return None;
    }
    let mut error = inner_error(&body).unwrap_or_else(|| read_error_value(None, &body));
    if body.is_object() && body.get("message").is_none() && body.get("error").is_none() {
        error.message = text();
    }
    error.message = truncate_message(error.message);
    Some(error)
}

/// The error in an envelope of the form most servers use.
fn inner_error(body: &Value) -> Option<ApiError> {
    let error = body.get("error").filter(|error| !error.is_null())?;
    Some(read_error_value(None, error))
}

/// The event in a frame of InvokeModel: Bedrock puts it as base64 into `bytes`, while
/// servers that emulate Bedrock may send it as it is, recognisable by its `type`.
fn invoke_event(payload: &[u8]) -> Result<Cow<'_, [u8]>, WireError> {
    let value = parse(payload)?;
    let Some(bytes) = value.get("bytes").and_then(Value::as_str) else {
        return match value.get("type") {
            Some(_) => Ok(Cow::Borrowed(payload)),
            None => Err(WireError::Missing {
                field: "bytes".to_owned(),
            }),
        };
    };
    let event = STANDARD
        .decode(bytes)
        .map_err(|error| WireError::WrongValue {
            field: "bytes".to_owned(),
            expected: "base64",
            found: error.to_string(),
        })?;
    Ok(Cow::Owned(event))
}

fn broken_stream(code: &str, error: &dyn std::error::Error) -> ApiError {
    ApiError {
        status: 502,
        code: Some(code.to_owned()),
        ..ApiError::new(
            ErrorKind::Api,
            format!("the upstream's stream could not be read: {error}"),
        )
    }
}

fn too_large() -> ApiError {
    let message = format!("the upstream's response has more than {MAX_RESPONSE_BYTES} bytes");
    ApiError {
        status: 502,
        code: Some("upstream-response-too-large".to_owned()),
        ..ApiError::new(ErrorKind::Api, message)
    }
}

/// Writes neutral events as a client's stream of server-sent events; for Gemini's clients
/// also as a JSON array.
#[derive(Debug)]
pub struct StreamWriter {
    writer: DialectWriter,
    sources: StreamedSources,
}

#[derive(Debug)]
enum DialectWriter {
    Messages(Box<MessagesWriter>),
    Chat(Box<ChatWriter>),
    Responses(Box<ResponsesWriter>),
    Gemini(Box<GeminiWriter>),
}

impl StreamWriter {
    /// A writer of a client's stream.
    pub fn new(client: ClientDialect, context: ReplyContext) -> Self {
        let writer = match client {
            ClientDialect::Messages => {
                DialectWriter::Messages(Box::new(MessagesWriter::new(context)))
            }
            ClientDialect::Chat => DialectWriter::Chat(Box::new(ChatWriter::new(context))),
            ClientDialect::Responses => {
                DialectWriter::Responses(Box::new(ResponsesWriter::new(context)))
            }
            ClientDialect::Gemini => DialectWriter::Gemini(Box::new(GeminiWriter::new(context))),
        };
        StreamWriter {
            writer,
            sources: StreamedSources::new(client),
        }
    }

    /// Appends the bytes of an event; some events need none.
    pub fn write(&mut self, event: &StreamEvent, out: &mut Vec<u8>) {
        self.sources.note(event);
        match &mut self.writer {
            DialectWriter::Messages(writer) => writer.write(event, out),
            DialectWriter::Chat(writer) => writer.write(event, out),
            DialectWriter::Responses(writer) => writer.write(event, out),
            DialectWriter::Gemini(writer) => writer.write(event, out),
        }
    }

    /// The whole response of a Responses stream, once, after its end; only where the context
    /// has `keep_response`.
    pub fn take_response(&mut self) -> Option<Value> {
        match &mut self.writer {
            DialectWriter::Responses(writer) => writer.take_response().map(Value::Object),
            DialectWriter::Messages(_) | DialectWriter::Chat(_) | DialectWriter::Gemini(_) => None,
        }
    }

    /// Sets when the response was complete, in seconds of the Unix epoch: only a Responses
    /// stream contains it, at its end.
    pub fn set_completed(&mut self, at: u64) {
        if let DialectWriter::Responses(writer) = &mut self.writer {
            writer.set_completed(at);
        }
    }

    /// What was written so far is part of the response.
    pub fn finish_step(&mut self) {
        if let DialectWriter::Responses(writer) = &mut self.writer {
            writer.finish_step();
        }
    }

    /// What was written since [`StreamWriter::finish_step`] is not part of the response, and
    /// is written again: a Responses stream marks its items as incomplete.
    pub fn abandon_step(&mut self, out: &mut Vec<u8>) {
        if let DialectWriter::Responses(writer) = &mut self.writer {
            writer.abandon_step(out);
        }
    }

    /// The numbers of items of a Responses stream that are not part of the response.
    pub fn abandoned_items(&self) -> &[usize] {
        match &self.writer {
            DialectWriter::Responses(writer) => writer.abandoned_items(),
            DialectWriter::Messages(_) | DialectWriter::Chat(_) | DialectWriter::Gemini(_) => &[],
        }
    }

    /// What could not be translated since the last call.
    pub fn take_dropped(&mut self) -> Vec<Dropped> {
        let mut dropped = match &mut self.writer {
            DialectWriter::Messages(_) => Vec::new(),
            DialectWriter::Chat(writer) => writer.take_dropped(),
            DialectWriter::Responses(writer) => writer.take_dropped(),
            DialectWriter::Gemini(writer) => writer.take_dropped(),
        };
        dropped.extend(self.sources.take_dropped());
        dropped
    }
}
