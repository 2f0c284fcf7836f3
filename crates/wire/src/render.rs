//! An error as the HTTP response of a dialect.

use serde_json::Value;

use crate::ClientDialect;
use crate::neutral::ApiError;

/// An error ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedError {
    /// The HTTP status in this dialect.
    pub status: u16,
    /// The body.
    pub body: Value,
    /// Headers that belong to it, lower case.
    pub headers: Vec<(&'static str, String)>,
}

impl RenderedError {
    pub(crate) fn new(error: &ApiError, status: u16, body: Value, id_header: &'static str) -> Self {
        let mut headers = Vec::new();
        if let Some(id) = &error.request_id {
            headers.push((id_header, id.clone()));
        }
        // SDKs retry every 409 and 5xx unless a header forbids it.
        let final_answer = !error.kind.is_transient() || error.status == 501;
        if final_answer && (error.status == 409 || error.status >= 500) {
            headers.push(("x-should-retry", "false".to_owned()));
        }
        RenderedError {
            status,
            body,
            headers,
        }
    }
}

/// Renders an error in the client's dialect: the one place errors become bodies.
pub fn render_client_error(client: ClientDialect, error: &ApiError) -> RenderedError {
    match client {
        ClientDialect::Messages => crate::anthropic::render_error(error),
        ClientDialect::Chat | ClientDialect::Responses => crate::openai::render_error(error),
        ClientDialect::Gemini => crate::gemini::render_error(error),
    }
}
