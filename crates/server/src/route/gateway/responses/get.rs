//! `GET /v1/responses/{id}`

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use super::replay;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{PathParams, Query};

/// The response as sent to its client; with `stream=true` as events, after `starting_after` if
/// given.
pub(super) async fn get(
    State(app): State<App>,
    principal: Principal,
    query: Query,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let starting_after = query.parse_value("starting_after", "a sequence number")?;
    let record = app.store().load_response(&principal.tenant, &id).await?;
    if query.get("stream") != Some("true") {
        return Ok(([(CONTENT_TYPE, "application/json")], record.response).into_response());
    }
    let response = serde_json::from_str(&record.response)
        .map_err(|error| HttpError::internal("response-malformed", &error))?;
    let headers = [
        (CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (CACHE_CONTROL, "no-cache"),
    ];
    Ok((headers, replay::replay_events(&response, starting_after)).into_response())
}
