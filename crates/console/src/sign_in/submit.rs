//! `POST /console/sign-in`: a key for a console session.

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::{ORIGIN, RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, StatusCode, Uri};
use prowess_server::{CONSOLE_SESSION_LIFETIME, SignInError};

use super::{page, safe_next};
use crate::cookie;
use crate::query::FormFields;
use crate::state::ConsoleState;

/// Bytes of a key that is looked at; a longer one is no key.
const MAX_KEY_BYTES: usize = 4 << 10;

pub(super) async fn submit(
    State(state): State<ConsoleState>,
    headers: HeaderMap,
    FormFields(form): FormFields,
) -> Response {
    let next = safe_next(form.get("next"));
    let is_open = !state.server.has_master_key();
    let refuse = |status, message: String| page(status, next, Some(message), is_open);
    if is_plain_http_elsewhere(&headers) {
        return refuse(
            StatusCode::BAD_REQUEST,
            "the console needs HTTPS, or a loopback address: over plain HTTP the browser would \
             not keep the session, and others could read the key"
                .to_owned(),
        );
    }
    let key = form.get("key").filter(|key| key.len() <= MAX_KEY_BYTES);
    let key = key.unwrap_or_default();
    let address = state.server.client_network();
    // Behind a proxy all have one address: who has a key of the server is not locked out by others.
    if state.server.can_be_guessed(key)
        && let Err(seconds) = state.attempts.check(address)
    {
        let message = format!("too many failed attempts; try again in {seconds} seconds");
        let response = refuse(StatusCode::TOO_MANY_REQUESTS, message);
        return ([(RETRY_AFTER, seconds.to_string())], response).into_response();
    }
    let tenant = form.get("tenant");
    let token = match state.server.sign_in(key, tenant).await {
        Ok(token) => token,
        Err(error) => {
            let status = match &error {
                SignInError::UnknownKey => {
                    state.attempts.record_failure(address);
                    StatusCode::UNAUTHORIZED
                }
                SignInError::InvalidTenant(_) => StatusCode::BAD_REQUEST,
                SignInError::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            };
            return refuse(status, error.to_string());
        }
    };
    // A session that this browser had before would live on unseen.
    if let Some(earlier) = cookie::session_token(&headers) {
        state.server.sign_out(earlier).await;
    }
    let seconds = CONSOLE_SESSION_LIFETIME.as_secs();
    let cookie = cookie::set(&headers, &token, seconds);
    ([(SET_COOKIE, cookie)], Redirect::to(next)).into_response()
}

/// Whether the browser is on a page over plain HTTP of another machine.
fn is_plain_http_elsewhere(headers: &HeaderMap) -> bool {
    let origin = headers.get(ORIGIN).and_then(|it| it.to_str().ok());
    let origin = origin.and_then(|it| it.parse::<Uri>().ok());
    let is_plain = origin.is_some_and(|origin| origin.scheme_str() == Some("http"));
    is_plain && !cookie::host(headers).is_some_and(cookie::is_loopback_host)
}
