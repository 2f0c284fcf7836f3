//! Reads a response's body while it passes to the client.

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::http::header::CONTENT_LENGTH;
use axum::response::Response;
use bytes::Bytes;
use futures_util::Stream;
use prowess_provider::is_event_stream;

/// A chunk of a response.
pub(super) type ChunkResult = Result<Bytes, axum::Error>;

/// The response with its body passed through `events` if it is a stream of events, and
/// through `whole` if it is not. Both must pass the same bytes on.
pub(super) fn observe<O, E, W>(
    response: Response,
    observer: O,
    events: impl FnOnce(BodyDataStream, O) -> E,
    whole: impl FnOnce(BodyDataStream, O) -> W,
) -> Response
where
    E: Stream<Item = ChunkResult> + Send + 'static,
    W: Stream<Item = ChunkResult> + Send + 'static,
{
    let (mut head, body) = response.into_parts();
    // The same bytes will pass, but a stream has no known length.
    if let Some(length) = body.size_hint().exact() {
        head.headers.entry(CONTENT_LENGTH).or_insert(length.into());
    }
    let bytes = body.into_data_stream();
    let body = if is_event_stream(&head.headers) {
        Body::from_stream(events(bytes, observer))
    } else {
        Body::from_stream(whole(bytes, observer))
    };
    Response::from_parts(head, body)
}
