//! Error events, each as a text message.

use std::time::Duration;

use axum::extract::ws::Message;
use axum::http::StatusCode;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::error::{HttpError, to_neutral};

/// An error event.
pub(super) fn error_event(status: StatusCode, error: Value) -> Message {
    let event = json!({ "type": "error", "status": status.as_u16(), "error": error });
    Message::Text(event.to_string().into())
}

/// The last event of a connection whose sender would be refused now.
pub(super) fn refusal_event(refusal: &HttpError) -> Message {
    let error = to_neutral(refusal, None);
    let mut body = prowess_wire::render_client_error(ClientDialect::Responses, &error).body;
    let inner = body.get_mut("error").map(Value::take);
    error_event(refusal.status, inner.unwrap_or_default())
}

/// The last event of a connection that reached its lifetime, or this idle timeout.
pub(super) fn limit_event(idle: Option<Duration>) -> Message {
    let (code, limit) = match idle {
        None => (
            "websocket_connection_limit_reached",
            "reached its limit of 60 minutes".to_owned(),
        ),
        Some(idle) => {
            let minutes = idle.as_secs() / 60;
            let limit = format!("had no message for {minutes} min");
            ("websocket_idle_timeout", limit)
        }
    };
    let message = format!("the connection {limit}; open a new one to continue");
    let inner = json!({
        "type": "invalid_request_error",
        "code": code,
        "message": message,
        "param": null,
    });
    error_event(StatusCode::BAD_REQUEST, inner)
}

/// The content of an error event.
pub(super) fn server_error(message: &str) -> Value {
    json!({ "type": "server_error", "code": "server_error", "message": message, "param": null })
}
