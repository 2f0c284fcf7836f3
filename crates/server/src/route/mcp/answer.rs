//! Any method at `/mcp`: in comes whoever may.

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use super::origin;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::limits::Refusal;
use crate::route::gateway::read_body;

pub(super) async fn answer(State(app): State<App>, request: Request) -> Response {
    match let_in(&app, request).await {
        Ok(response) => response,
        Err(error) => refused(&error),
    }
}

async fn let_in(app: &App, request: Request) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    origin::check(&parts)?;
    let caller = Caller::from_request_parts(&mut parts, app).await?;
    caller.may(Need::Look)?;
    if let Some(key) = caller.key() {
        app.limits().knock(key).map_err(|refusal| busy(&refusal))?;
    }
    let own_tools_at_once = own_tools_at_once(parts.uri.query().unwrap_or_default())?;
    let http = app.mcp().http();
    let limit = http.limits().message;
    let body = read_body(app, &caller.tenant, body, limit).await?;
    // They have done their work, and what is not there cannot be logged.
    parts.headers.remove(AUTHORIZATION);
    parts.headers.remove("x-api-key");
    let guest = app.mcp().guest(app, &caller, own_tools_at_once);
    let request = Request::from_parts(parts, body.bytes);
    Ok(http.handle(guest, request).await.map(Body::new))
}

/// What the parameter `own_tools` of the URL says. It counts when a session begins.
fn own_tools_at_once(query: &str) -> Result<bool, ApiError> {
    let mut own_tools = form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| name == "own_tools")
        .map(|(_, value)| value);
    match own_tools.next().as_deref() {
        None | Some("on-load") => Ok(false),
        Some("at-once") => Ok(true),
        Some(other) => {
            let shown: String = other.escape_debug().take(40).collect();
            let message = format!(
                "own_tools is \"{shown}\"; it can be \"on-load\" (list the tools of a skill once \
                 it is loaded) or \"at-once\" (list the tools of all skills from the start)"
            );
            Err(ApiError::bad_request("invalid_parameter", message))
        }
    }
}

fn busy(refusal: &Refusal) -> ApiError {
    let error = ApiError::new(
        StatusCode::TOO_MANY_REQUESTS,
        "rate_limit_exceeded",
        refusal.error.message.clone(),
    );
    match refusal.retry_after {
        Some(wait) => error.with("retry_after", wait.as_secs() + 1),
        None => error,
    }
}

/// Clients of MCP read neither vendor's errors, so these are told as JSON-RPC.
fn refused(error: &ApiError) -> Response {
    let mut response = prowess_mcp::refusal(error.status, error.code, &error.message);
    let headers = response.headers_mut();
    if error.status == StatusCode::UNAUTHORIZED {
        let bearer = HeaderValue::from_static("Bearer realm=\"prowess\"");
        headers.insert(WWW_AUTHENTICATE, bearer);
    }
    let wait = error.details.get("retry_after").map(ToString::to_string);
    if let Some(wait) = wait.and_then(|wait| HeaderValue::from_str(&wait).ok()) {
        headers.insert(RETRY_AFTER, wait);
    }
    response.map(Body::new)
}
