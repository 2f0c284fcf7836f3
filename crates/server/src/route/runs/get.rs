//! `GET /v1/runs/{run}`

use axum::Json;
use axum::extract::State;
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
    let run = app.store().run(&principal.tenant, &id).await?;
    let mut shown = render::run(&run.run);
    if let Some(map) = shown.as_object_mut() {
        map.insert("usage".to_owned(), run.usage);
        map.insert("skills".to_owned(), run.skills);
        map.insert("files".to_owned(), run.files);
        map.insert("events".to_owned(), run.events);
    }
    Ok(Json(shown))
}
