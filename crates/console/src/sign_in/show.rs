//! `GET /console/sign-in`

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::{page, safe_next};
use crate::query::QueryFields;
use crate::state::ConsoleState;

pub(super) async fn show(
    State(state): State<ConsoleState>,
    QueryFields(query): QueryFields,
) -> Response {
    let next = safe_next(query.get("next"));
    page(StatusCode::OK, next, None, !state.server.has_master_key())
}
