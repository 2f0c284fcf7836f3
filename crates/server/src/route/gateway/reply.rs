//! Sends a model's response to the client, unchanged or translated to its dialect.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use prowess_provider::{
    ByteStream, CallError, ForwardOutcome, InputTokenCount, ModelOutput, PassThroughResponse,
    Route, UpstreamReply as Answered,
};
use prowess_wire::neutral::{Request, Response as NeutralResponse, StreamEvent};
use prowess_wire::{ClientDialect, Dropped, ReplyContext, StreamWriter, write_response};
use serde_json::json;

use super::conversation::{self, AnswerRecorder};
use super::error::GatewayError;
use super::sse_passthrough::SsePassthrough;
use super::sse_translate::TranslatedStream;
use super::unsupported_fields::UnsupportedFields;
use super::usage_scan::UsageScan;
use crate::context::RequestId;
use crate::meter::Meter;

const EVENT_STREAM: &str = "text/event-stream";
/// Marks a token count as estimated by the server.
const ESTIMATED_HEADER: HeaderName = HeaderName::from_static("prowess-estimated");
/// A response that is not a stream is read up to here before the client receives its status:
/// if it breaks off, an error can still be sent instead.
const READ_AHEAD_BYTES: usize = 1 << 20;

/// Records which target responded.
pub(super) fn record_target(meter: &mut Meter, forwarded: &ForwardOutcome, route: &Route) {
    let (provider, model, price) = match forwarded {
        ForwardOutcome::PassedThrough(passed) => (&passed.provider, &passed.model, &passed.price),
        ForwardOutcome::Translated { reply, .. } => (&reply.provider, &reply.model, &reply.price),
        // Token counting is not metered.
        ForwardOutcome::TokenCount(_) => return,
    };
    meter.set_target(provider, model, price.as_ref());
    let mut targets = route.targets().iter();
    if let Some(target) = targets.find(|target| target.provider() == provider) {
        meter.set_provider_kind(target.kind());
    }
}

/// What is needed to send a response to the client.
pub(super) struct ClientReply {
    pub(super) client: ClientDialect,
    pub(super) id: RequestId,
    /// Size of the request.
    pub(super) request_bytes: usize,
    /// Whether a stream is one JSON array instead of events.
    pub(super) json_array: bool,
    /// How long a translated stream may be silent before a keep-alive ping.
    pub(super) ping: Option<Duration>,
    pub(super) meter: Meter,
    /// Stores the response, if it belongs to a stored conversation.
    pub(super) recorder: Option<AnswerRecorder>,
}

impl ClientReply {
    pub(super) async fn respond(self, forwarded: ForwardOutcome) -> Result<Response, GatewayError> {
        match forwarded {
            ForwardOutcome::PassedThrough(passed) => self.pass_through(*passed).await,
            ForwardOutcome::Translated { request, reply } => {
                Ok(Box::pin(self.translate(&request, *reply)).await)
            }
            ForwardOutcome::TokenCount(counted) => Ok(token_count_response(self.client, &counted)),
        }
    }

    /// Status, headers and bytes unchanged.
    async fn pass_through(mut self, passed: PassThroughResponse) -> Result<Response, GatewayError> {
        let PassThroughResponse {
            provider,
            model,
            status,
            mut headers,
            usage,
            body,
            ..
        } = passed;
        tracing::debug!(
            provider,
            model,
            status = status.as_u16(),
            "response passed through"
        );
        let recorder = self.recorder.take();
        let body = if self.json_array && status.is_success() {
            let client = self.client;
            let scanned = UsageScan::new(body, client, status, self.request_bytes, self.meter);
            Body::from_stream(scanned)
        } else if is_event_stream(&headers) {
            // An error event at its end would make it longer.
            headers.remove(CONTENT_LENGTH);
            let client = self.client;
            let scanned = UsageScan::new(body, client, status, self.request_bytes, self.meter);
            Body::from_stream(SsePassthrough::new(client, scanned, self.id))
        } else {
            if let Some(usage) = usage {
                self.meter.record_usage(&usage);
            }
            self.read_ahead(body, status, provider).await?
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(conversation::record_passthrough(recorder, response))
    }

    /// A body whose beginning, usually all of it, has been read.
    async fn read_ahead(
        mut self,
        mut body: ByteStream,
        status: StatusCode,
        provider: String,
    ) -> Result<Body, GatewayError> {
        let mut chunks: Vec<Bytes> = Vec::new();
        let mut size = 0;
        while size < READ_AHEAD_BYTES {
            match body.next().await {
                Some(Ok(chunk)) => {
                    size += chunk.len();
                    chunks.push(chunk);
                }
                Some(Err(error)) => {
                    let failure = GatewayError::from(CallError::Upstream {
                        provider,
                        error,
                        retry_after: None,
                        should_retry: None,
                    });
                    let (status, code) = failure.status_and_code();
                    self.meter.record_failure(status, &code);
                    return Err(failure);
                }
                None => {
                    let bytes = concat_chunks(chunks);
                    match status.as_u16() {
                        failed @ 400.. => self.meter.record_failure(failed, "upstream-error"),
                        status => self.meter.record_end(status),
                    }
                    return Ok(Body::from(bytes));
                }
            }
        }
        let body = stream::iter(chunks).map(Ok).chain(body);
        let scanned = UsageScan::new(body, self.client, status, self.request_bytes, self.meter);
        Ok(Body::from_stream(scanned))
    }

    /// The response in the client's dialect.
    async fn translate(self, request: &Request, reply: Answered) -> Response {
        tracing::debug!(
            provider = reply.provider,
            model = reply.model,
            "response translated"
        );
        let context = ReplyContext::for_request(request, unix_now());
        match reply.output {
            ModelOutput::Response(answer) => {
                self.respond_whole(&answer, context, &reply.dropped).await
            }
            ModelOutput::Stream(events) => self.respond_streamed(events, context, &reply.dropped),
        }
    }

    /// A complete response.
    pub(super) async fn respond_whole(
        mut self,
        answer: &NeutralResponse,
        mut context: ReplyContext,
        dropped: &[Dropped],
    ) -> Response {
        self.adjust_context(&mut context);
        let mut unsupported = self.unsupported_fields(dropped);
        context.completed.get_or_insert_with(unix_now);
        let (body, dropped) = write_response(self.client, answer, &context);
        unsupported.add_response_fields(&dropped);
        self.meter.record_usage(&answer.usage);
        self.meter.record_end(200);
        if let Some(recorder) = self.recorder {
            recorder.save(&body).await;
        }
        let mut response = Json(body).into_response();
        unsupported.write_header(response.headers_mut());
        response
    }

    /// A streamed response.
    pub(super) fn respond_streamed<S>(
        mut self,
        events: S,
        mut context: ReplyContext,
        dropped: &[Dropped],
    ) -> Response
    where
        S: Stream<Item = StreamEvent> + Send + Unpin + 'static,
    {
        self.adjust_context(&mut context);
        let unsupported = self.unsupported_fields(dropped);
        context.json_array = self.json_array;
        let writer = StreamWriter::new(self.client, context);
        let kind = if self.json_array {
            "application/json; charset=utf-8"
        } else {
            "text/event-stream; charset=utf-8"
        };
        let headers = [
            (CONTENT_TYPE, kind),
            (CACHE_CONTROL, "no-cache"),
            (HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        let body = Body::from_stream(TranslatedStream::new(events, writer, self));
        let mut response = (headers, body).into_response();
        unsupported.write_header(response.headers_mut());
        response
    }

    /// Fields of the request that the target's dialect does not support.
    fn unsupported_fields(&self, dropped: &[Dropped]) -> UnsupportedFields {
        let shift = self
            .recorder
            .as_ref()
            .map(AnswerRecorder::shift)
            .unwrap_or_default();
        let mut unsupported = UnsupportedFields::default();
        unsupported.add_request_fields(dropped, |field| shift.client_path(field));
        unsupported
    }

    fn adjust_context(&mut self, context: &mut ReplyContext) {
        if let Some(recorder) = &mut self.recorder {
            recorder.adjust(context);
        }
    }
}

/// The token count in the client's dialect.
fn token_count_response(client: ClientDialect, counted: &InputTokenCount) -> Response {
    tracing::debug!(
        provider = counted.provider,
        model = counted.model,
        "tokens counted"
    );
    let tokens = counted.input_tokens;
    let body = match client {
        ClientDialect::Messages => json!({ "input_tokens": tokens }),
        ClientDialect::Chat | ClientDialect::Responses => {
            json!({ "object": "response.input_tokens", "input_tokens": tokens })
        }
        ClientDialect::Gemini => json!({ "totalTokens": tokens }),
    };
    let mut response = Json(body).into_response();
    if counted.estimated {
        let value = HeaderValue::from_static("true");
        response.headers_mut().insert(ESTIMATED_HEADER, value);
    }
    response
}

pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    let header = headers.get(CONTENT_TYPE);
    let text = header.and_then(|value| value.to_str().ok());
    let kind = text.unwrap_or_default().split(';').next();
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case(EVENT_STREAM))
}

fn concat_chunks(mut chunks: Vec<Bytes>) -> Bytes {
    match (chunks.pop(), chunks.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            chunks.extend(last);
            chunks.concat().into()
        }
    }
}

/// Seconds since the Unix epoch.
pub(super) fn unix_now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default()
}
