//! Stores responses that pass unchanged. The last bytes wait until the response is stored: the
//! client may request it immediately.

use axum::body::BodyDataStream;
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use prowess_wire::sse::SseParser;
use prowess_wire::{Dialect, ReadContext, StreamReader, parse_json};
use serde_json::Value;

use super::AnswerRecorder;
use super::final_response::FinalResponse;
use crate::route::gateway::observed_body::{ChunkResult, observe};

/// Bytes of a response, or of one event, that is stored.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// The response, stored as its body passes.
pub(in crate::route::gateway) fn record_passthrough(
    recorder: Option<AnswerRecorder>,
    response: Response,
) -> Response {
    let recorder =
        recorder.filter(|kept| kept.records_passthrough() && response.status().is_success());
    let Some(recorder) = recorder else {
        return response;
    };
    observe(response, recorder, record_events, record_whole)
}

/// Collects the complete response from a stream of events.
struct StreamCollector {
    recorder: AnswerRecorder,
    events: EventParser,
}

enum EventParser {
    Responses(SseParser, FinalResponse),
    Chat(Box<StreamReader>),
}

impl StreamCollector {
    fn new(mut recorder: AnswerRecorder) -> StreamCollector {
        let events = match &mut recorder {
            AnswerRecorder::Response(_) => {
                let parser = SseParser::new(MAX_ANSWER_BYTES);
                EventParser::Responses(parser, FinalResponse::default())
            }
            AnswerRecorder::Chat(chat) => {
                chat.start_passthrough();
                let reader = StreamReader::new(Dialect::Chat, ReadContext::default());
                EventParser::Chat(Box::new(reader))
            }
        };
        StreamCollector { recorder, events }
    }

    /// Adds bytes, or their end; returns the response once it is complete.
    fn push(&mut self, bytes: Option<&[u8]>) -> Option<Value> {
        match (&mut self.events, &mut self.recorder) {
            (EventParser::Responses(parser, response), _) => {
                let mut events = Vec::new();
                parser.push(bytes?, &mut events).ok()?;
                events.iter().find_map(|event| response.push(&event.data))
            }
            (EventParser::Chat(reader), AnswerRecorder::Chat(chat)) => {
                let events = match bytes {
                    Some(bytes) => reader.push(bytes),
                    None => reader.finish(),
                };
                events.into_iter().for_each(|event| chat.on_event(event));
                reader.is_ended().then(|| chat.take_streamed()).flatten()
            }
            _ => None,
        }
    }
}

fn record_events(
    bytes: BodyDataStream,
    recorder: AnswerRecorder,
) -> impl Stream<Item = ChunkResult> + Send {
    let state = (bytes.fuse(), Some(Box::new(StreamCollector::new(recorder))));
    stream::unfold(state, async |(mut bytes, mut collector)| {
        let chunk = bytes.next().await;
        let end = chunk.is_none();
        let received = match &chunk {
            Some(Ok(chunk)) => Some(chunk.as_ref()),
            _ => None,
        };
        if let Some(active) = collector.as_mut().filter(|_| end || received.is_some())
            && let Some(answer) = active.push(received)
            && let Some(finished) = collector.take()
        {
            finished.recorder.save_passthrough(&answer).await;
        }
        Some((chunk?, (bytes, collector)))
    })
}

/// A response that is not a stream passes except for its last chunk, and is stored before that
/// one.
fn record_whole(
    bytes: BodyDataStream,
    recorder: AnswerRecorder,
) -> impl Stream<Item = ChunkResult> + Send {
    let state = (bytes.fuse(), Some((Vec::new(), recorder)), None);
    stream::unfold(state, async |(mut bytes, mut all, mut last)| {
        loop {
            match bytes.next().await {
                Some(Ok(chunk)) => {
                    if let Some((read, _)) = &mut all {
                        read.extend_from_slice(&chunk);
                    }
                    if all
                        .take_if(|(read, _)| read.len() > MAX_ANSWER_BYTES)
                        .is_some()
                    {
                        tracing::warn!("response too long to store");
                    }
                    if let Some(before) = last.replace(chunk) {
                        return Some((Ok(before), (bytes, all, last)));
                    }
                }
                Some(Err(error)) => return Some((Err(error), (bytes, None, None))),
                None => {
                    let chunk = last.take()?;
                    if let Some((read, recorder)) = all.take()
                        && let Ok(answer) = parse_json(&read)
                    {
                        recorder.save_passthrough(&answer).await;
                    }
                    return Some((Ok(chunk), (bytes, None, None)));
                }
            }
        }
    })
}
