//! A model's answer, given to the client as it came or written in its dialect.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use prowess_provider::{
    Answer, ByteStream, CallError, Counted, Forwarded, Passed, Reply as Answered, Route,
};
use prowess_wire::neutral::{Request, Response as Whole, StreamEvent};
use prowess_wire::{Client, Dropped, ReplyContext, StreamWriter, write_response};
use serde_json::json;

use super::dropped::LeftOut;
use super::failure::Failure;
use super::passing::Passing;
use super::scanned::Scanned;
use super::stored::{self, Kept};
use super::written::Written;
use crate::context::RequestId;
use crate::meter::Meter;

const EVENT_STREAM: &str = "text/event-stream";
/// Says that a number of tokens is nobody's but ours.
const ESTIMATED: HeaderName = HeaderName::from_static("prowess-estimated");
/// An answer that is no stream is read up to here before the client is told of it: if
/// it breaks off, there can still be an error instead.
const AHEAD: usize = 1 << 20;

/// Notes who answered a request.
pub(super) fn note(meter: &mut Meter, forwarded: &Forwarded, route: &Route) {
    let (provider, model, price) = match forwarded {
        Forwarded::Passed(passed) => (&passed.provider, &passed.model, &passed.price),
        Forwarded::Called { reply, .. } => (&reply.provider, &reply.model, &reply.price),
        // Counting is not counted.
        Forwarded::Counted(_) => return,
    };
    meter.answered_by(provider, model, price.as_ref());
    let mut targets = route.targets().iter();
    if let Some(target) = targets.find(|target| target.provider() == provider) {
        meter.kind(target.kind());
    }
}

/// What is needed to give an answer to its client.
pub(super) struct Reply {
    pub(super) client: Client,
    pub(super) id: RequestId,
    /// How long the request was.
    pub(super) asked_bytes: usize,
    /// Whether a stream is to be one JSON array, and no events.
    pub(super) array: bool,
    /// After how long a silence a stream of ours gives a sign of life.
    pub(super) ping: Option<Duration>,
    pub(super) meter: Meter,
    /// How a Responses answer belongs to a conversation that is kept here.
    pub(super) kept: Option<Kept>,
}

impl Reply {
    pub(super) async fn give(self, forwarded: Forwarded) -> Result<Response, Failure> {
        match forwarded {
            Forwarded::Passed(passed) => self.pass(*passed).await,
            Forwarded::Called { request, reply } => {
                Ok(Box::pin(self.write(&request, *reply)).await)
            }
            Forwarded::Counted(counted) => Ok(count(self.client, &counted)),
        }
    }

    /// Status, headers and bytes as they came.
    async fn pass(mut self, passed: Passed) -> Result<Response, Failure> {
        let Passed {
            provider,
            model,
            status,
            mut headers,
            usage,
            body,
            ..
        } = passed;
        tracing::debug!(provider, model, status = status.as_u16(), "passed on");
        let kept = self.kept.take();
        let body = if self.array && status.is_success() {
            let client = self.client;
            let scanned = Scanned::new(body, client, status, self.asked_bytes, self.meter);
            Body::from_stream(scanned)
        } else if is_event_stream(&headers) {
            // An error at its end would make it longer.
            headers.remove(CONTENT_LENGTH);
            let client = self.client;
            let scanned = Scanned::new(body, client, status, self.asked_bytes, self.meter);
            Body::from_stream(Passing::new(client, scanned, self.id))
        } else {
            if let Some(usage) = usage {
                self.meter.used(&usage);
            }
            self.ahead(body, status, provider).await?
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(stored::keep_passing(kept, response))
    }

    /// A body of which the beginning, and usually all, has been read.
    async fn ahead(
        mut self,
        mut body: ByteStream,
        status: StatusCode,
        provider: String,
    ) -> Result<Body, Failure> {
        let mut read: Vec<Bytes> = Vec::new();
        let mut size = 0;
        while size < AHEAD {
            match body.next().await {
                Some(Ok(chunk)) => {
                    size += chunk.len();
                    read.push(chunk);
                }
                Some(Err(error)) => {
                    let failure = Failure::from(CallError::Upstream {
                        provider,
                        error,
                        retry_after: None,
                        should_retry: None,
                    });
                    let (status, code) = failure.outline();
                    self.meter.failed(status, &code);
                    return Err(failure);
                }
                None => {
                    let whole = joined(read);
                    match status.as_u16() {
                        failed @ 400.. => self.meter.failed(failed, "upstream-error"),
                        status => self.meter.ended(status),
                    }
                    return Ok(Body::from(whole));
                }
            }
        }
        let body = stream::iter(read).map(Ok).chain(body);
        let scanned = Scanned::new(body, self.client, status, self.asked_bytes, self.meter);
        Ok(Body::from_stream(scanned))
    }

    /// The answer in the client's dialect.
    async fn write(self, request: &Request, reply: Answered) -> Response {
        tracing::debug!(provider = reply.provider, model = reply.model, "translated");
        let context = ReplyContext::of(request, now());
        match reply.answer {
            Answer::Whole(answer) => self.whole(&answer, context, &reply.dropped).await,
            Answer::Stream(events) => self.streamed(events, context, &reply.dropped),
        }
    }

    /// An answer given at once.
    pub(super) async fn whole(
        mut self,
        answer: &Whole,
        mut context: ReplyContext,
        dropped: &[Dropped],
    ) -> Response {
        self.adjust(&mut context);
        let mut left_out = self.left_out(dropped);
        context.completed.get_or_insert_with(now);
        let (body, dropped) = write_response(self.client, answer, &context);
        left_out.of_answer(&dropped);
        self.meter.used(&answer.usage);
        self.meter.ended(200);
        if let Some(kept) = self.kept {
            kept.save(&body).await;
        }
        let mut response = Json(body).into_response();
        left_out.name_in(response.headers_mut());
        response
    }

    /// An answer that comes piece by piece.
    pub(super) fn streamed<S>(
        mut self,
        events: S,
        mut context: ReplyContext,
        dropped: &[Dropped],
    ) -> Response
    where
        S: Stream<Item = StreamEvent> + Send + Unpin + 'static,
    {
        self.adjust(&mut context);
        let left_out = self.left_out(dropped);
        context.array = self.array;
        let writer = StreamWriter::new(self.client, context);
        let kind = match self.array {
            true => "application/json; charset=utf-8",
            false => "text/event-stream; charset=utf-8",
        };
        let headers = [
            (CONTENT_TYPE, kind),
            (CACHE_CONTROL, "no-cache"),
            (HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        let body = Body::from_stream(Written::new(events, writer, self));
        let mut response = (headers, body).into_response();
        left_out.name_in(response.headers_mut());
        response
    }

    /// What of the request could not be said to the model.
    fn left_out(&self, dropped: &[Dropped]) -> LeftOut {
        let shift = self.kept.as_ref().map(Kept::shift).unwrap_or_default();
        let mut left_out = LeftOut::default();
        left_out.of_request(dropped, |field| shift.client_path(field));
        left_out
    }

    fn adjust(&mut self, context: &mut ReplyContext) {
        if let Some(kept) = &mut self.kept {
            kept.adjust(context);
        }
    }
}

/// The number of tokens, as the client's dialect tells it.
fn count(client: Client, counted: &Counted) -> Response {
    tracing::debug!(
        provider = counted.provider,
        model = counted.model,
        "counted"
    );
    let tokens = counted.input_tokens;
    let body = match client {
        Client::Messages => json!({ "input_tokens": tokens }),
        Client::Chat | Client::Responses => {
            json!({ "object": "response.input_tokens", "input_tokens": tokens })
        }
        Client::Gemini => json!({ "totalTokens": tokens }),
    };
    let mut response = Json(body).into_response();
    if counted.estimated {
        let value = HeaderValue::from_static("true");
        response.headers_mut().insert(ESTIMATED, value);
    }
    response
}

pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case(EVENT_STREAM)
}

fn joined(mut read: Vec<Bytes>) -> Bytes {
    match (read.pop(), read.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            read.extend(last);
            read.concat().into()
        }
    }
}

/// Seconds of the Unix epoch.
pub(super) fn now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default()
}
