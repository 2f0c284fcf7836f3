//! `GET /v1/runs/{run}`

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use prowess_store::{Error as StoreError, TenantId};
use serde_json::Value;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::render;
use crate::stored_answer::StoredAnswer;

/// A run with all that is stored of it, which may be as large as many responses.
pub(crate) async fn get(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    principal.require(Permission::ReadRuns)?;
    let tenant = &principal.tenant;
    let mut answer = StoredAnswer::begin(&app, tenant).await?;
    let shown = read(&app, tenant, &id).await?.to_string();
    answer.count([shown.as_str()]).await?;
    let headers = [(CONTENT_TYPE, "application/json")];
    Ok(answer.send((headers, shown).into_response()))
}

async fn read(app: &App, tenant: &TenantId, id: &str) -> Result<Value, HttpError> {
    let run = match app.store().run(tenant, id).await {
        Err(StoreError::NotFound { .. }) => {
            // A kept run has a record when it has ended, unless it ended before its first turn.
            let run = app.store().journal_run(tenant, id).await?;
            return Ok(render::kept_run(&run));
        }
        found => found?,
    };
    let mut shown = render::run(&run.run);
    if let Some(map) = shown.as_object_mut() {
        map.insert("usage".to_owned(), run.usage);
        map.insert("skills".to_owned(), run.skills);
        map.insert("files".to_owned(), run.files);
        map.insert("events".to_owned(), run.events);
    }
    Ok(shown)
}
