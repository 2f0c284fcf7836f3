//! `POST /console/sign-out`: ends the session, here and in the browser.

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::HeaderMap;
use http::header::SET_COOKIE;

use crate::cookie;
use crate::state::ConsoleState;

pub(super) async fn sign_out(State(state): State<ConsoleState>, headers: HeaderMap) -> Response {
    if let Some(token) = cookie::session_token(&headers) {
        state.server.sign_out(token).await;
    }
    let cookie = cookie::clear(&headers);
    ([(SET_COOKIE, cookie)], Redirect::to("/console/sign-in")).into_response()
}
