//! `GET /v1/responses/{id}`

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use super::replay;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::{Path, Query};

/// The answer as its client was given it; with `stream=true` as events, of which
/// `starting_after` leaves out the first.
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    query: Query,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    caller.may(Need::UseModels)?;
    let starting_after = query.parsed("starting_after", "a sequence number")?;
    let record = app.store().load_response(&caller.tenant, &id).await?;
    if query.get("stream") != Some("true") {
        return Ok(([(CONTENT_TYPE, "application/json")], record.response).into_response());
    }
    let response = serde_json::from_str(&record.response)
        .map_err(|error| ApiError::internal("response-malformed", &error))?;
    let headers = [
        (CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (CACHE_CONTROL, "no-cache"),
    ];
    Ok((headers, replay::events(&response, starting_after)).into_response())
}
