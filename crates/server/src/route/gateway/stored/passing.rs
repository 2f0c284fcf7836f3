//! Answers that pass as they came, and are kept all the same. The bytes that end one wait
//! until it is kept: their client may ask for it at once.

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::http::header::CONTENT_LENGTH;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use prowess_wire::sse::SseParser;
use prowess_wire::{Dialect, ReadContext, StreamReader};
use serde_json::Value;

use super::Kept;
use crate::route::gateway::answer::is_event_stream;

/// Bytes of an answer, or of one event, that is kept.
const MOST: usize = 16 << 20;

type Piece = Result<Bytes, axum::Error>;

/// The response, kept as its body passes.
pub(in crate::route::gateway) fn keep_passing(kept: Option<Kept>, response: Response) -> Response {
    let kept = kept.filter(|kept| kept.takes_passing() && response.status().is_success());
    let Some(kept) = kept else {
        return response;
    };
    let (mut head, body) = response.into_parts();
    // The same bytes will pass, though nobody can tell from a stream how many.
    if let Some(length) = body.size_hint().exact() {
        head.headers.entry(CONTENT_LENGTH).or_insert(length.into());
    }
    let events = is_event_stream(&head.headers);
    let bytes = body.into_data_stream();
    let body = match events {
        true => Body::from_stream(each_event(bytes, kept)),
        false => Body::from_stream(whole(bytes, kept)),
    };
    Response::from_parts(head, body)
}

/// Finds the whole answer in a stream of events.
struct Heard {
    kept: Kept,
    events: Events,
}

enum Events {
    /// The last event repeats all.
    Responses(SseParser),
    Chat(Box<StreamReader>),
}

impl Heard {
    fn new(mut kept: Kept) -> Heard {
        let events = match &mut kept {
            Kept::Response(_) => Events::Responses(SseParser::new(MOST)),
            Kept::Chat(chat) => {
                chat.passes();
                let reader = StreamReader::new(Dialect::Chat, ReadContext::default());
                Events::Chat(Box::new(reader))
            }
        };
        Heard { kept, events }
    }

    /// Takes bytes, or their end; gives the answer once it is whole.
    fn hear(&mut self, bytes: Option<&[u8]>) -> Option<Value> {
        match (&mut self.events, &mut self.kept) {
            (Events::Responses(parser), _) => {
                let mut events = Vec::new();
                parser.push(bytes?, &mut events).ok()?;
                events.iter().find_map(|event| completed(&event.data))
            }
            (Events::Chat(reader), Kept::Chat(chat)) => {
                let events = match bytes {
                    Some(bytes) => reader.push(bytes),
                    None => reader.finish(),
                };
                events.into_iter().for_each(|event| chat.hear(event));
                reader.is_ended().then(|| chat.streamed()).flatten()
            }
            _ => None,
        }
    }
}

/// The answer in an event that ends it.
pub(in crate::route::gateway) fn completed(data: &str) -> Option<Value> {
    if !data.contains("response.completed") && !data.contains("response.incomplete") {
        return None;
    }
    let mut event: Value = serde_json::from_str(data).ok()?;
    match event.get("type")?.as_str()? {
        "response.completed" | "response.incomplete" => event.get_mut("response").map(Value::take),
        _ => None,
    }
}

fn each_event(bytes: BodyDataStream, kept: Kept) -> impl Stream<Item = Piece> + Send {
    let state = (bytes.fuse(), Some(Box::new(Heard::new(kept))));
    stream::unfold(state, async |(mut bytes, mut heard)| {
        let piece = bytes.next().await;
        let end = piece.is_none();
        let given = match &piece {
            Some(Ok(piece)) => Some(piece.as_ref()),
            _ => None,
        };
        if let Some(hearing) = heard.as_mut().filter(|_| end || given.is_some())
            && let Some(answer) = hearing.hear(given)
            && let Some(heard) = heard.take()
        {
            heard.kept.save_passed(&answer).await;
        }
        Some((piece?, (bytes, heard)))
    })
}

/// An answer that is no stream passes up to its last piece, and is kept before that one.
fn whole(bytes: BodyDataStream, kept: Kept) -> impl Stream<Item = Piece> + Send {
    let state = (bytes.fuse(), Some((Vec::new(), kept)), None);
    stream::unfold(state, async |(mut bytes, mut all, mut last)| {
        loop {
            match bytes.next().await {
                Some(Ok(piece)) => {
                    if let Some((read, _)) = &mut all {
                        read.extend_from_slice(&piece);
                    }
                    if all.take_if(|(read, _)| read.len() > MOST).is_some() {
                        tracing::warn!("an answer is too long to be kept");
                    }
                    if let Some(before) = last.replace(piece) {
                        return Some((Ok(before), (bytes, all, last)));
                    }
                }
                Some(Err(error)) => return Some((Err(error), (bytes, None, None))),
                None => {
                    let piece = last.take()?;
                    if let Some((read, kept)) = all.take()
                        && let Ok(answer) = serde_json::from_slice::<Value>(&read)
                    {
                        kept.save_passed(&answer).await;
                    }
                    return Some((Ok(piece), (bytes, None, None)));
                }
            }
        }
    })
}
