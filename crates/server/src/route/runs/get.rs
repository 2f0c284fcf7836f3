//! `GET /v1/runs/{run}`

use axum::Json;
use axum::extract::State;
use prowess_store::Error as StoreError;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::render;

pub(crate) async fn get(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::ReadRuns)?;
    let run = match app.store().run(&principal.tenant, &id).await {
        Err(StoreError::NotFound { .. }) => {
            // A kept run has a record when it has ended, unless it ended before its first turn.
            let run = app.store().journal_run(&principal.tenant, &id).await?;
            return Ok(Json(render::kept_run(&run)));
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
    Ok(Json(shown))
}
