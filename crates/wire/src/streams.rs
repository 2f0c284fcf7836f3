//! Streams by name: bytes of an upstream in, neutral events between, bytes for a
//! client out.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::anthropic::{self, MessagesReader};
use crate::chat::{ChatReader, ChatWriter};
use crate::context::{ReadContext, ReplyContext};
use crate::drops::Dropped;
use crate::error::WireError;
use crate::event_stream::{Frame, FrameDecoder};
use crate::neutral::{ApiError, ErrorKind, StreamEvent};
use crate::sse::SseParser;
use crate::{Client, Dialect};

/// Reads an upstream's stream, cut anywhere, into neutral events.
///
/// It never fails: whatever is wrong with the stream becomes one last
/// [`StreamEvent::Error`], and what follows is ignored.
#[derive(Debug)]
pub struct StreamReader {
    frames: Frames,
    events: Events,
    failed: bool,
}

/// How events are cut out of the bytes.
#[derive(Debug)]
enum Frames {
    Sse(SseParser),
    /// Bedrock's frames around Anthropic's events.
    Invoke(FrameDecoder),
}

/// What the events mean.
#[derive(Debug)]
enum Events {
    Messages(MessagesReader),
    Chat(Box<ChatReader>),
}

impl StreamReader {
    /// A reader of an upstream's stream.
    pub fn new(upstream: Dialect, context: ReadContext) -> Self {
        let sse = || Frames::Sse(SseParser::default());
        let (frames, events) = match upstream {
            Dialect::Messages => (sse(), Events::Messages(MessagesReader::new(context))),
            Dialect::Chat => (sse(), Events::Chat(Box::new(ChatReader::new(context)))),
        };
        StreamReader {
            frames,
            events,
            failed: false,
        }
    }

    /// A reader of Bedrock's InvokeModelWithResponseStream: Messages events in frames.
    pub fn bedrock_invoke(context: ReadContext) -> Self {
        StreamReader {
            frames: Frames::Invoke(FrameDecoder::default()),
            events: Events::Messages(MessagesReader::new(context)),
            failed: false,
        }
    }

    /// Takes the next bytes and gives the events they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<StreamEvent> {
        let mut out = Vec::new();
        if self.is_ended() {
            return out;
        }
        match &mut self.frames {
            Frames::Sse(parser) => {
                let mut events = Vec::new();
                let parsed = parser.push(bytes, &mut events);
                for event in events {
                    self.data(event.data.as_bytes(), &mut out);
                }
                if let Err(error) = parsed {
                    self.fail(broken(error.code(), &error), &mut out);
                }
            }
            Frames::Invoke(decoder) => {
                let mut frames = Vec::new();
                let decoded = decoder.push(bytes, &mut frames);
                for frame in frames {
                    self.frame(&frame, &mut out);
                }
                if let Err(error) = decoded {
                    self.fail(broken(error.code(), &error), &mut out);
                }
            }
        }
        out
    }

    /// The bytes have ended: gives what is left, or the error that something is missing.
    pub fn finish(&mut self) -> Vec<StreamEvent> {
        let mut out = Vec::new();
        if let Frames::Sse(parser) = &mut self.frames
            && let Ok(Some(event)) = parser.finish()
        {
            self.data(event.data.as_bytes(), &mut out);
        }
        if self.is_ended() {
            return out;
        }
        match &mut self.events {
            Events::Messages(_) => self.fail(ApiError::cut_short(), &mut out),
            Events::Chat(reader) => reader.finish(&mut out),
        }
        out
    }

    /// Whether the answer has ended, well or not; more bytes change nothing.
    pub fn is_ended(&self) -> bool {
        self.failed
            || match &self.events {
                Events::Messages(reader) => reader.is_ended(),
                Events::Chat(reader) => reader.is_ended(),
            }
    }

    fn data(&mut self, data: &[u8], out: &mut Vec<StreamEvent>) {
        if self.is_ended() {
            return;
        }
        let read = match &mut self.events {
            Events::Messages(reader) => reader.event(data, out),
            Events::Chat(reader) => reader.event(data, out),
        };
        if let Err(error) = read {
            self.fail(error.to_upstream_error(), out);
        }
    }

    /// Bedrock's frame holds base64 of one event, or an exception.
    fn frame(&mut self, frame: &Frame, out: &mut Vec<StreamEvent>) {
        if let Some(error) = crate::converse::read_exception(frame) {
            self.fail(error, out);
            return;
        }
        match invoke_chunk(&frame.payload) {
            Ok(data) => self.data(&data, out),
            Err(error) => self.fail(error.to_upstream_error(), out),
        }
    }

    fn fail(&mut self, error: ApiError, out: &mut Vec<StreamEvent>) {
        if !self.is_ended() {
            self.failed = true;
            out.push(StreamEvent::Error(error));
        }
    }
}

fn invoke_chunk(payload: &[u8]) -> Result<Vec<u8>, WireError> {
    let missing = || WireError::Missing {
        field: "bytes".to_owned(),
    };
    let value = crate::fields::parse(payload)?;
    let text = value
        .get("bytes")
        .and_then(Value::as_str)
        .ok_or_else(missing)?;
    STANDARD.decode(text).map_err(|error| WireError::Wrong {
        field: "bytes".to_owned(),
        expected: "base64",
        found: error.to_string(),
    })
}

fn broken(code: &str, error: &dyn std::error::Error) -> ApiError {
    ApiError {
        status: 502,
        code: Some(code.to_owned()),
        ..ApiError::new(
            ErrorKind::Api,
            format!("the upstream's stream could not be read: {error}"),
        )
    }
}

/// Writes neutral events as a client's stream of server-sent events.
#[derive(Debug)]
pub struct StreamWriter(Writer);

#[derive(Debug)]
enum Writer {
    Messages(ReplyContext),
    Chat(Box<ChatWriter>),
}

impl StreamWriter {
    /// A writer of a client's stream.
    pub fn new(client: Client, context: ReplyContext) -> Self {
        StreamWriter(match client {
            Client::Messages => Writer::Messages(context),
            Client::Chat => Writer::Chat(Box::new(ChatWriter::new(context))),
        })
    }

    /// Appends the bytes that tell an event; some events need none.
    pub fn write(&mut self, event: &StreamEvent, out: &mut Vec<u8>) {
        match &mut self.0 {
            Writer::Messages(context) => anthropic::write_event(event, context, out),
            Writer::Chat(writer) => writer.write(event, out),
        }
    }

    /// What could not be said since the last call.
    pub fn take_dropped(&mut self) -> Vec<Dropped> {
        match &mut self.0 {
            Writer::Messages(_) => Vec::new(),
            Writer::Chat(writer) => writer.take_dropped(),
        }
    }
}
