//! Sends a model's response to the client, unchanged or translated to its dialect.

use axum::Json;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use prowess_provider::{
    ByteStream, ForwardOutcome, InputTokenCount, ModelOutput, PassThroughResponse, Route,
    RouteDecision, UpstreamReply as Answered, is_event_stream,
};
use prowess_wire::neutral::{Request, Response as NeutralResponse, StreamEvent};
use prowess_wire::{ClientDialect, Dropped, ReplyContext, StreamWriter, write_response};
use serde_json::json;

use super::client_reply::ClientReply;
use super::clock::unix_now;
use super::conversation::{self, AnswerRecorder};
use super::sse_passthrough::SsePassthrough;
use super::sse_translate::TranslatedStream;
use super::unsupported_fields::UnsupportedFields;
use super::usage_scan::UsageScan;
use crate::meter::Meter;

/// Marks a token count as estimated by the server.
pub(super) const ESTIMATED_HEADER: HeaderName = HeaderName::from_static("prowess-estimated");

/// Which of several deployments or fallbacks responded, and why.
const ROUTE_HEADER: HeaderName = HeaderName::from_static("prowess-route");

/// Tells the client which of several deployments or fallbacks responded, and why.
pub(super) fn write_route_header(decision: &RouteDecision, headers: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::try_from(decision.header_value()) {
        headers.insert(ROUTE_HEADER, value);
    }
}

/// Marks a response whose cost is not charged to the key's budget, as its price is not known.
const UNPRICED_HEADER: HeaderName = HeaderName::from_static("prowess-unpriced");

/// Tells the client that its budget is not charged.
pub(super) fn write_unpriced_header(headers: &mut HeaderMap) {
    headers.insert(UNPRICED_HEADER, HeaderValue::from_static("true"));
}

/// Records which target responded.
pub(super) fn record_target(meter: &mut Meter, forwarded: &ForwardOutcome, route: &Route) {
    let (provider, model, price) = match forwarded {
        ForwardOutcome::PassedThrough(passed) => (&passed.provider, &passed.model, &passed.price),
        ForwardOutcome::Translated { reply, .. } => (&reply.provider, &reply.model, &reply.price),
        ForwardOutcome::Embedded { reply, .. } => (&reply.provider, &reply.model, &reply.price),
        // Token counting is not metered.
        ForwardOutcome::TokenCount(_) => return,
    };
    meter.set_target(provider, model, price.as_ref());
    meter.set_decision(forwarded.decision());
    let mut targets = route.targets().iter();
    if let Some(target) = targets.find(|target| target.provider() == provider) {
        meter.set_provider_kind(target.kind());
    }
}

impl ClientReply {
    pub(super) async fn respond(self, forwarded: ForwardOutcome) -> Response {
        match forwarded {
            ForwardOutcome::PassedThrough(passed) => self.pass_through(*passed),
            ForwardOutcome::Translated { request, reply } => {
                Box::pin(self.translate(&request, *reply)).await
            }
            ForwardOutcome::TokenCount(counted) => token_count_response(self.client, &counted),
            ForwardOutcome::Embedded { request, reply } => self.respond_embedded(&request, *reply),
        }
    }

    /// Status, headers and bytes unchanged.
    fn pass_through(mut self, passed: PassThroughResponse) -> Response {
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
            let bytes = self.request_bytes;
            let scanned = UsageScan::new(body, client, status, bytes, self.meter, self.lost);
            Body::from_stream(scanned)
        } else if is_event_stream(&headers) {
            // An error event at its end would make it longer.
            headers.remove(CONTENT_LENGTH);
            let client = self.client;
            let bytes = self.request_bytes;
            let scanned = UsageScan::new(body, client, status, bytes, self.meter, self.lost);
            Body::from_stream(SsePassthrough::new(client, scanned, self.id))
        } else {
            if let Some(usage) = usage {
                self.meter.record_usage(&usage);
            }
            self.buffered_body(body, status)
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        conversation::record_passthrough(recorder, response)
    }

    /// A body that is not a stream. Usually `prowess-provider` has read all of it before any of
    /// it is sent.
    fn buffered_body(mut self, body: ByteStream, status: StatusCode) -> Body {
        match body.into_complete() {
            Ok(bytes) => {
                match status.as_u16() {
                    failed @ 400.. => self.meter.record_failure(failed, "upstream-error"),
                    status => self.meter.record_end(status),
                }
                Body::from(bytes)
            }
            Err(body) => {
                let client = self.client;
                let bytes = self.request_bytes;
                let scanned = UsageScan::new(body, client, status, bytes, self.meter, self.lost);
                Body::from_stream(scanned)
            }
        }
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
    pub(super) fn unsupported_fields(&self, dropped: &[Dropped]) -> UnsupportedFields {
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
