//! Why a call of the API failed, as pages show it.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use prowess_server::PageFormError;

/// Status and the API's own message. As a response it is rendered by
/// [`error_page`](crate::error_page), which knows who looks at it.
#[derive(Debug, Clone)]
pub(crate) struct PageError {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl PageError {
    pub(crate) fn bad_request(message: impl Into<String>) -> PageError {
        PageError {
            status: StatusCode::BAD_REQUEST,
            message: message.into(),
        }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> PageError {
        PageError {
            status: StatusCode::NOT_FOUND,
            message: message.into(),
        }
    }

    /// An error of the console itself; the cause goes to the log.
    pub(crate) fn internal(what: &'static str, cause: &dyn std::fmt::Display) -> PageError {
        tracing::error!(what, %cause, "cannot make a page");
        PageError {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message: format!("{what}; the server's log has the cause"),
        }
    }
}

impl From<PageFormError> for PageError {
    fn from(error: PageFormError) -> Self {
        PageError {
            status: error.status,
            message: error.to_string(),
        }
    }
}

/// A response without a body, which carries the error to where it is rendered.
impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
