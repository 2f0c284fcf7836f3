//! `GET /v1/containers/{container}`

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::container_json;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;

pub(crate) async fn get(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let containers = app.engine().containers(&principal.tenant);
    let mut shown = container_json(&containers.get(&id).await?);
    let skills = containers.skills(&id).await?;
    let skill =
        |(skill, version): &(String, String)| json!({"skill_id": skill, "version_id": version});
    let skills: Vec<Value> = skills.iter().map(skill).collect();
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("skills".to_owned(), skills.into());
    }
    Ok(Json(shown))
}
