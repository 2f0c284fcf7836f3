//! Errors for requests that match no route, or none with their method.

use axum::http::{Method, StatusCode, Uri};
use prowess_wire::excerpt;

use crate::error::HttpError;

pub(super) async fn not_found(method: Method, uri: Uri) -> HttpError {
    HttpError::new(
        StatusCode::NOT_FOUND,
        "route-not-found",
        format!("no route {method} {}", excerpt(uri.path())),
    )
}

pub(super) fn method_not_allowed(method: Method, uri: Uri) -> HttpError {
    HttpError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method-not-allowed",
        format!("method {method} not allowed for {}", excerpt(uri.path())),
    )
}
