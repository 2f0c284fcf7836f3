//! `GET /v1/skills/{skill}/labels`

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::ids;
use crate::render::release;

pub(crate) async fn list(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::ReadSkills)?;
    let _permit = app.transfers().acquire_list(&principal.tenant).await?;
    let labels = app
        .store()
        .labels_of_skill(&principal.tenant, ids::canonical_skill_id(&id))
        .await?;
    let protected = &app.settings().protected_labels;
    let labels = labels.iter().map(|label| release::label(label, protected));
    Ok(Json(json!({ "data": labels.collect::<Vec<_>>() })))
}
