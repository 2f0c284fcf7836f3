//! `/mcp` with any method: authorizes and handles a request.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use futures_util::{FutureExt, StreamExt};
use http_body_util::BodyExt;
use prowess_mcp::{McpPrincipal, RequestPermit, ResponseMemory, SkillProvider};
use prowess_provider::is_event_stream;
use prowess_wire::parsed_excess;
use serde::Deserialize;

use super::origin;
use super::skill_provider::TenantSkillProvider;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::bodies::OwnedBodyReservation;
use crate::error::HttpError;
use crate::limits::RequestRefusal;
use crate::read_body::read_body;

/// Bytes of a message that is kept for as long as its session.
const MAX_SESSION_MESSAGE_BYTES: usize = 64 << 10;
/// Bytes that its parsed values may take beyond what is usual for a text ([`parsed_excess`]).
const MAX_SESSION_MESSAGE_EXCESS: usize = 256 << 10;

pub(super) async fn handle(State(app): State<App>, request: Request) -> Response {
    match authorize_and_handle(&app, request).await {
        Ok(response) => response,
        Err(error) => jsonrpc_error(&error),
    }
}

async fn authorize_and_handle(app: &App, request: Request) -> Result<Response, HttpError> {
    let (mut parts, body) = request.into_parts();
    origin::check(&parts)?;
    let principal = Principal::from_request_parts(&mut parts, app).await?;
    principal.require(Permission::Browse)?;
    if let Some(key) = principal.key() {
        app.limits()
            .count_request(key)
            .map_err(|refusal| rate_limit_error(&refusal))?;
    }
    let own_tools_at_once = parse_own_tools(parts.uri.query().unwrap_or_default())?;
    let http = app.mcp().http();
    let limit = http.limits().max_message_bytes;
    let body = read_body(app, &principal.tenant, body, limit).await?;
    let (bytes, reservation) = body.into_parts();
    let is_post = parts.method == Method::POST;
    let method = is_post.then(|| peek_method(&bytes)).flatten();
    if is_post && is_kept(method.as_deref()) {
        check_kept_size(&bytes)?;
    }
    let transfer = match is_post && has_large_response(method.as_deref()) {
        true => Some(
            app.transfers()
                .acquire_skill_download(&principal.tenant)
                .await?,
        ),
        false => None,
    };
    // A call may run for long after its response has begun, and goes on in a session when its
    // client leaves: its arguments are in memory until then, and its response until it was sent.
    let is_large = transfer.is_some();
    let reservation = reservation.into_owned(app.body_budget());
    let permit = RequestPermit::new(transfer).with_memory(CallMemory(Mutex::new(reservation)));
    parts.extensions.insert(permit.clone());
    // No longer needed, and absent headers cannot be logged.
    parts.headers.remove(AUTHORIZATION);
    parts.headers.remove("x-api-key");
    parts.headers.remove("x-goog-api-key");
    let mcp_principal = mcp_principal(app, &principal, own_tools_at_once);
    let request = Request::from_parts(parts, bytes);
    let response = http.handle(mcp_principal, request).await;
    let is_stream = is_event_stream(response.headers());
    let held = (is_large || is_stream).then_some(permit);
    let response = response.map(|body| with_permit(Body::new(body), held));
    if !is_stream {
        return Ok(response);
    }
    // MCP has no event that says why a stream ends; the next request of the client does.
    let lost = principal.lost_access(app, Permission::Browse);
    Ok(response.map(|body| Body::from_stream(body.into_data_stream().take_until(lost))))
}

/// The memory of a message and of its response, which count for their tenant.
#[derive(Debug)]
struct CallMemory(Mutex<OwnedBodyReservation>);

impl ResponseMemory for CallMemory {
    fn try_grow(&self, bytes: usize) -> bool {
        let mut reservation = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(reservation.grow(bytes).now_or_never(), Some(Ok(())))
    }
}

/// The method of a message, empty if it has none; `None` if it cannot be read.
fn peek_method(message: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Peek {
        method: Option<String>,
    }
    let peek: Option<Peek> = serde_json::from_slice(message).ok();
    peek.map(|peek| peek.method.unwrap_or_default())
}

/// Whether a message requests a file as a resource, or a prompt: the whole response is in memory,
/// more than once, until its client has received it. A message that cannot be read counts as one.
fn has_large_response(method: Option<&str>) -> bool {
    matches!(method, None | Some("resources/read" | "prompts/get"))
}

/// Whether a message stays in memory for as long as its session.
fn is_kept(method: Option<&str>) -> bool {
    matches!(method, None | Some("initialize"))
}

/// Refuses a message that is kept and takes much memory: its client may describe itself in any
/// number of values.
fn check_kept_size(message: &[u8]) -> Result<(), HttpError> {
    if message.len() <= MAX_SESSION_MESSAGE_BYTES
        && parsed_excess(message) <= MAX_SESSION_MESSAGE_EXCESS
    {
        return Ok(());
    }
    let message = format!(
        "a message that begins a session has at most {MAX_SESSION_MESSAGE_BYTES} bytes, and few \
         values"
    );
    let status = StatusCode::PAYLOAD_TOO_LARGE;
    Err(HttpError::new(status, "message-too-large", message))
}

/// A body that holds a permit until it was sent.
fn with_permit(body: Body, permit: Option<RequestPermit>) -> Body {
    let Some(permit) = permit else {
        return body;
    };
    Body::new(body.map_frame(move |frame| {
        let _held = &permit;
        frame
    }))
}

/// The principal as MCP knows it, with its tenant's skills.
fn mcp_principal(app: &App, principal: &Principal, own_tools_at_once: bool) -> McpPrincipal {
    let can_run_code = principal.require(Permission::RunCode).is_ok();
    let provider: Arc<dyn SkillProvider> = Arc::new(TenantSkillProvider {
        skills: app.mcp().skills(app.store(), &principal.tenant),
        engine: app.engine().clone(),
        can_run_code,
        own_tools_at_once,
    });
    McpPrincipal {
        owner: principal.tenant.as_str().to_owned(),
        key: principal.key_id().unwrap_or_default().to_owned(),
        can_run_code,
        provider,
    }
}

/// Parses the query parameter `own_tools`, which applies when a session begins.
fn parse_own_tools(query: &str) -> Result<bool, HttpError> {
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
            Err(HttpError::bad_request("invalid_parameter", message))
        }
    }
}

fn rate_limit_error(refusal: &RequestRefusal) -> HttpError {
    let error = HttpError::new(
        StatusCode::TOO_MANY_REQUESTS,
        "rate_limit_exceeded",
        refusal.error.message.clone(),
    );
    match refusal.retry_after {
        Some(wait) => error.with_detail("retry_after", wait.as_secs() + 1),
        None => error,
    }
}

/// MCP clients do not read the vendors' errors, so these are JSON-RPC errors.
fn jsonrpc_error(error: &HttpError) -> Response {
    let mut response = prowess_mcp::error_response(error.status, error.code, &error.message);
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
