//! Who looks at a page: a browser with a valid console session, or, on a server without a
//! master key, anybody on its machine. All others are sent to the page for signing in.

use std::sync::{Arc, OnceLock};

use axum::extract::{FromRequestParts, OriginalUri};
use axum::response::{IntoResponse, Redirect, Response};
use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use prowess_server::{CallerError, InProcessCaller};

use crate::api::{Api, PageError};
use crate::cookie;
use crate::state::ConsoleState;

/// Sent by htmx with its requests.
pub(crate) const HX_REQUEST: HeaderName = HeaderName::from_static("hx-request");
/// Has htmx go to another page.
pub(crate) const HX_REDIRECT: HeaderName = HeaderName::from_static("hx-redirect");

/// Bytes of an address that the browser comes back to after signing in. It is repeated in responses
/// for those who have no key, and these are small: HTTP/2 keeps many of them for a client that does
/// not read.
pub(crate) const MAX_NEXT_BYTES: usize = 2 << 10;

/// Who looks at a page, and what they may do.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) api: Api,
    pub(crate) key_name: String,
    /// None for the operator who acts for the default tenant.
    pub(crate) tenant: Option<String>,
    pub(crate) scopes: Vec<String>,
    /// May publish skills.
    pub(crate) can_write: bool,
    /// May do what concerns the whole server.
    pub(crate) is_operator: bool,
    /// Whether the server lets everybody on its machine in.
    pub(crate) without_sign_in: bool,
    /// Tells visitors apart: the tenant and the key.
    pub(crate) owner: String,
    /// Address of the server as the browser has it, without a final slash.
    pub(crate) base_url: String,
}

/// The visitor of the current request, for pages that are made after its handler has ended.
#[derive(Clone, Default)]
pub(crate) struct CurrentVisitor(Arc<OnceLock<Visitor>>);

impl CurrentVisitor {
    pub(crate) fn get(&self) -> Option<&Visitor> {
        self.0.get()
    }
}

impl Visitor {
    /// Whether they have a scope. Those who may administer have all.
    pub(crate) fn has_scope(&self, scope: &str) -> bool {
        self.is_operator || self.scopes.iter().any(|own| own == scope || own == "admin")
    }

    fn new(state: &ConsoleState, caller: InProcessCaller, parts: &Parts) -> Visitor {
        let agent = parts.headers.get(header::USER_AGENT).cloned();
        let scopes: Vec<String> = caller.scopes().iter().map(|&it| it.to_owned()).collect();
        let is_operator = caller.is_operator();
        let mut visitor = Visitor {
            key_name: caller.name().to_owned(),
            tenant: caller.tenant().map(str::to_owned),
            can_write: false,
            is_operator,
            without_sign_in: caller.is_without_key(),
            owner: format!("{}/{}", caller.tenant().unwrap_or_default(), caller.id()),
            base_url: base_url(parts),
            scopes,
            api: Api::new(state.server.clone(), caller, agent),
        };
        visitor.can_write = visitor.has_scope("publish");
        visitor
    }
}

impl FromRequestParts<ConsoleState> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &ConsoleState,
    ) -> Result<Visitor, Response> {
        let caller = find_caller(parts, state).await?;
        let visitor = Visitor::new(state, caller, parts);
        if let Some(current) = parts.extensions.get::<CurrentVisitor>() {
            // The first one stays: both are of the same request.
            let _ = current.0.set(visitor.clone());
        }
        Ok(visitor)
    }
}

async fn find_caller(parts: &Parts, state: &ConsoleState) -> Result<InProcessCaller, Response> {
    if let Some(token) = cookie::session_token(&parts.headers) {
        match state.server.caller_of_session(token).await {
            Ok(Some(caller)) => return Ok(caller),
            Ok(None) => {}
            Err(error) => return Err(not_answered(&error).into_response()),
        }
    }
    match state.server.caller_without_key(parts) {
        Some(Ok(caller)) => Ok(caller),
        Some(Err(error)) => Err(PageError {
            status: StatusCode::FORBIDDEN,
            message: error.to_string(),
        }
        .into_response()),
        None => Err(redirect_to_sign_in(parts)),
    }
}

fn not_answered(error: &CallerError) -> PageError {
    PageError {
        status: match error {
            CallerError::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            CallerError::TooManyRequests(_) => StatusCode::TOO_MANY_REQUESTS,
        },
        message: error.to_string(),
    }
}

/// Comes back to this page afterwards, if it can be opened by its address.
fn redirect_to_sign_in(parts: &Parts) -> Response {
    let original = parts.extensions.get::<OriginalUri>();
    let uri = original.map_or(&parts.uri, |OriginalUri(uri)| uri);
    let is_htmx = parts.headers.contains_key(HX_REQUEST);
    let mut to = "/console/sign-in".to_owned();
    if parts.method == http::Method::GET && !is_htmx {
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        if path.len() <= MAX_NEXT_BYTES {
            to.push_str("?next=");
            to.extend(utf8_percent_encode(path, NON_ALPHANUMERIC));
        }
    }
    if is_htmx {
        let to = HeaderValue::from_str(&to);
        let to = to.unwrap_or(HeaderValue::from_static("/console/sign-in"));
        return (StatusCode::OK, [(HX_REDIRECT, to)]).into_response();
    }
    Redirect::to(&to).into_response()
}

/// The address of the server in the browser. Over plain HTTP only loopback has a console.
fn base_url(parts: &Parts) -> String {
    let host = parts.headers.get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let host = host.or(parts.uri.authority().map(|authority| authority.as_str()));
    let host = host.unwrap_or("localhost");
    let scheme = if cookie::is_loopback_host(host) {
        "http"
    } else {
        "https"
    };
    format!("{scheme}://{host}")
}
