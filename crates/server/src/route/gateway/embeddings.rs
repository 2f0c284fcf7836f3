//! Embeddings of an upstream without OpenAI's API, as OpenAI's API returns them.

use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use prowess_provider::EmbeddingReply;
use prowess_wire::embeddings::{EmbeddingRequest, write_embedding_response};
use prowess_wire::neutral::TokenUsage;

use super::client_reply::ClientReply;
use super::reply::ESTIMATED_HEADER;

impl ClientReply {
    /// The vectors in OpenAI's format.
    pub(super) fn respond_embedded(
        mut self,
        request: &EmbeddingRequest,
        reply: EmbeddingReply,
    ) -> Response {
        tracing::debug!(
            provider = reply.provider,
            model = reply.model,
            "embeddings translated"
        );
        let usage = TokenUsage {
            input_tokens: reply.response.input_tokens.unwrap_or_default(),
            ..TokenUsage::default()
        };
        match reply.estimated {
            true => self.meter.record_estimate(&usage),
            false => self.meter.record_usage(&usage),
        }
        self.meter.record_end(200);
        let unsupported = self.unsupported_fields(&reply.dropped);
        let body = write_embedding_response(&reply.response, request.encoding, &reply.model);
        let mut response = ([(CONTENT_TYPE, "application/json")], body).into_response();
        let headers = response.headers_mut();
        if reply.estimated {
            headers.insert(ESTIMATED_HEADER, HeaderValue::from_static("true"));
        }
        unsupported.write_header(headers);
        response
    }
}
