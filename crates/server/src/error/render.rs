//! Renders an error as a response: `wire` writes the body in the client's dialect, as for
//! errors of models; status and headers are set here.

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::HeaderValue;
use axum::response::{IntoResponse, Response};
use prowess_wire::ClientDialect;
use prowess_wire::neutral::{self, ErrorKind};
use serde_json::Value;

use super::HttpError;

/// The response for an error.
pub(crate) fn render(error: &HttpError, client: ClientDialect, request_id: &str) -> Response {
    let rendered = prowess_wire::render_client_error(client, &to_neutral(error, Some(request_id)));
    let mut response = (error.status, Json(rendered.body)).into_response();
    let headers = response.headers_mut();
    for (name, value) in rendered.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    // Clients retry conflicts and server errors unless this header forbids it.
    if let Some(retry) = error.retry {
        let value = HeaderValue::from_static(if retry { "true" } else { "false" });
        headers.insert("x-should-retry", value);
    }
    response
}

/// The error in the neutral form.
pub(crate) fn to_neutral(error: &HttpError, request_id: Option<&str>) -> neutral::ApiError {
    let details = (*error.details).clone();
    let param = details.get("param").and_then(Value::as_str);
    neutral::ApiError {
        status: error.status.as_u16(),
        code: Some(error.code.to_owned()),
        param: param.map(str::to_owned),
        details: (!details.is_empty()).then(|| Box::new(Value::Object(details))),
        request_id: request_id.map(str::to_owned),
        ..neutral::ApiError::new(error_kind(error.status), error.message.clone())
    }
}

fn error_kind(status: StatusCode) -> ErrorKind {
    match status {
        // The store is unavailable or the client was slow: the server is not overloaded.
        StatusCode::SERVICE_UNAVAILABLE => ErrorKind::Api,
        StatusCode::REQUEST_TIMEOUT => ErrorKind::InvalidRequest,
        status => ErrorKind::from_status(status.as_u16()),
    }
}
