//! Templates as responses.

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use crate::api::PageError;

/// A page or a part of one: not stored by browsers, as somebody else may sit there later.
pub(crate) fn html(template: &impl Template) -> Response {
    html_with_status(StatusCode::OK, template)
}

/// A page with another status than 200.
pub(crate) fn html_with_status(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(text) => {
            let headers = [
                (CONTENT_TYPE, "text/html; charset=utf-8"),
                (CACHE_CONTROL, "no-store"),
            ];
            (status, headers, text).into_response()
        }
        Err(error) => PageError::internal("a page could not be rendered", &error).into_response(),
    }
}
