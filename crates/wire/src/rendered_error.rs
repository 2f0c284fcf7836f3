//! An error response, before it is sent. Its body is written by the error file of each
//! dialect.

use serde_json::Value;

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
