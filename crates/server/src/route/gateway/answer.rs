//! A model's answer, given to the client as it came or written in its dialect.

use axum::Json;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use prowess_provider::{Answer, ByteStream, CallError, Forwarded, Passed, Reply};
use prowess_wire::neutral::{Request, Response as Whole, StreamEvent};
use prowess_wire::{Client, Dropped, ReplyContext, StreamWriter, write_response};

use super::failure::Failure;
use super::stream::{Written, passing};
use crate::context::RequestId;

const EVENT_STREAM: &str = "text/event-stream";
/// Names the fields of a request that its model's dialect cannot say.
const DROPPED: HeaderName = HeaderName::from_static("prowess-dropped");
/// More than a client would read.
const MAX_DROPPED: usize = 32;
/// An answer that is no stream is read up to here before the client is told of it: if
/// it breaks off, there can still be an error instead.
const AHEAD: usize = 1 << 20;

pub(super) async fn give(
    client: Client,
    forwarded: Forwarded,
    id: &RequestId,
) -> Result<Response, Failure> {
    match forwarded {
        Forwarded::Passed(passed) => pass(client, *passed, id).await,
        Forwarded::Called { request, reply } => Ok(write(client, &request, *reply, id)),
    }
}

/// Status, headers and bytes as they came.
async fn pass(client: Client, passed: Passed, id: &RequestId) -> Result<Response, Failure> {
    let Passed {
        provider,
        model,
        status,
        mut headers,
        body,
    } = passed;
    tracing::debug!(provider, model, status = status.as_u16(), "passed on");
    let body = if is_event_stream(&headers) {
        // An error at its end would make it longer.
        headers.remove(CONTENT_LENGTH);
        Body::from_stream(passing(client, body, id.clone()))
    } else {
        ahead(body, provider).await?
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case(EVENT_STREAM)
}

/// A body of which the beginning, and usually all, has been read.
async fn ahead(mut body: ByteStream, provider: String) -> Result<Body, CallError> {
    let mut read: Vec<Bytes> = Vec::new();
    let mut size = 0;
    while size < AHEAD {
        match body.next().await {
            Some(Ok(chunk)) => {
                size += chunk.len();
                read.push(chunk);
            }
            Some(Err(error)) => {
                return Err(CallError::Upstream {
                    provider,
                    error,
                    retry_after: None,
                    should_retry: None,
                });
            }
            None => {
                return Ok(match (read.pop(), read.is_empty()) {
                    (Some(only), true) => Body::from(only),
                    (last, _) => {
                        read.extend(last);
                        Body::from(read.concat())
                    }
                });
            }
        }
    }
    Ok(Body::from_stream(stream::iter(read).map(Ok).chain(body)))
}

/// The answer in the client's dialect.
fn write(client: Client, request: &Request, reply: Reply, id: &RequestId) -> Response {
    tracing::debug!(provider = reply.provider, model = reply.model, "translated");
    let context = ReplyContext::of(request, now());
    let mut response = match reply.answer {
        Answer::Whole(answer) => whole(client, &answer, &context),
        Answer::Stream(events) => {
            let writer = StreamWriter::new(client, context);
            streamed(Written::new(events, writer, id.clone()))
        }
    };
    name_dropped(&mut response, &reply.dropped);
    response
}

/// An answer given at once.
pub(super) fn whole(client: Client, answer: &Whole, context: &ReplyContext) -> Response {
    let (body, dropped) = write_response(client, answer, context);
    for Dropped { field, why } in &dropped {
        tracing::debug!(field, why, "left out of the answer");
    }
    Json(body).into_response()
}

/// An answer that comes piece by piece.
pub(super) fn streamed<S>(written: Written<S>) -> Response
where
    S: Stream<Item = StreamEvent> + Send + Unpin + 'static,
{
    let headers = [
        (CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(written)).into_response()
}

/// Names in a header what could not be said to the model.
pub(super) fn name_dropped(response: &mut Response, dropped: &[Dropped]) {
    if let Some(fields) = named(dropped) {
        response.headers_mut().insert(DROPPED, fields);
    }
}

/// The fields that could not be said, for a header.
fn named(dropped: &[Dropped]) -> Option<HeaderValue> {
    let fields = dropped.iter().take(MAX_DROPPED);
    let fields: Vec<_> = fields.map(|dropped| dropped.field.as_str()).collect();
    if fields.is_empty() {
        return None;
    }
    HeaderValue::from_str(&fields.join(", ")).ok()
}

/// Seconds of the Unix epoch.
pub(super) fn now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default()
}
