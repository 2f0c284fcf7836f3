//! The response of an endpoint: status, headers and bytes unchanged.

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::Response;
use prowess_provider::{EndpointResponse, is_event_stream};
use prowess_wire::ClientDialect;

use super::metered_body::MeteredBody;
use crate::auth::LostAccess;
use crate::meter::{Meter, UsageScanner};
use crate::request_id::RequestId;
use crate::route::gateway::reply::{write_route_header, write_unpriced_header};
use crate::route::gateway::sse_passthrough::SsePassthrough;

/// A response, and what is known of its request.
pub(super) struct EndpointReply {
    pub(super) response: EndpointResponse,
    pub(super) meter: Meter,
    /// When the client may not have the rest of the response any more.
    pub(super) lost: LostAccess,
    /// The dialect of an error at the end of a stream.
    pub(super) client: ClientDialect,
    pub(super) id: RequestId,
    /// The dialect whose names its token counts have.
    pub(super) usage: ClientDialect,
    pub(super) request_bytes: usize,
    pub(super) generates_text: bool,
}

/// The response for the client. A stream that ends early has an error as its last event.
pub(super) fn reply(reply: EndpointReply) -> Response {
    let EndpointResponse {
        provider,
        model,
        status,
        mut headers,
        body,
        decision,
        ..
    } = reply.response;
    let code = status.as_u16();
    tracing::debug!(provider, model, status = code, "response passed through");
    if reply.meter.is_uncharged() {
        write_unpriced_header(&mut headers);
    }
    if let Some(decision) = decision {
        write_route_header(&decision, &mut headers);
    }
    let is_stream = is_event_stream(&headers);
    let has_counts = is_stream || is_json(&headers);
    let body = MeteredBody {
        body: Some(body),
        lost: reply.lost,
        scanner: has_counts.then(|| UsageScanner::new(reply.usage)),
        meter: reply.meter,
        status: status.as_u16(),
        request_bytes: reply.request_bytes,
        estimates: reply.generates_text,
    };
    let body = if is_stream {
        // An error event at its end would make it longer.
        headers.remove(CONTENT_LENGTH);
        Body::from_stream(SsePassthrough::new(reply.client, body, reply.id))
    } else {
        Body::from_stream(body)
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next());
    essence.is_some_and(|essence| {
        let essence = essence.trim().to_ascii_lowercase();
        essence == "application/json" || essence.ends_with("+json")
    })
}
