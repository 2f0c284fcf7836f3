//! `GET /v1/responses/{id}`

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use super::{kept, replay};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{PathParams, Query};
use crate::kept_runs::attach::FollowOptions;
use crate::stored_answer::StoredAnswer;

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
    let streams = query.get("stream") == Some("true");
    let tenant = &principal.tenant;
    let mut answer = StoredAnswer::begin(&app, tenant).await?;
    if let Some(run) = kept::find(&app, tenant, &id, &mut answer).await? {
        if streams {
            // Events are read as the client takes them.
            drop(answer);
            let options = FollowOptions {
                after: starting_after,
                ..FollowOptions::default()
            };
            let lost = principal.lost_access(&app, Permission::UseModels);
            return run.follow(options, lost).await;
        }
        let object = run.response_object().await?.to_string();
        answer.count([object.as_str()]).await?;
        let headers = [(CONTENT_TYPE, "application/json")];
        return Ok(answer.send((headers, object).into_response()));
    }
    let record = app.store().load_response(tenant, &id).await?;
    answer.count([record.response.as_str()]).await?;
    if !streams {
        let headers = [(CONTENT_TYPE, "application/json")];
        return Ok(answer.send((headers, record.response).into_response()));
    }
    let response = serde_json::from_str(&record.response)
        .map_err(|error| HttpError::internal("response-malformed", &error))?;
    let headers = [
        (CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (CACHE_CONTROL, "no-cache"),
    ];
    let events = replay::replay_events(&response, starting_after);
    Ok(answer.send((headers, events).into_response()))
}
