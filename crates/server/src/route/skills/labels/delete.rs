//! `DELETE /v1/skills/{skill}/labels/{label}`

use axum::Json;
use axum::extract::State;
use prowess_store::LabelName;
use serde_json::{Value, json};

use super::require_label;
use crate::app::App;
use crate::audit::AuditedStore;
use crate::auth::Principal;
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::ids;

pub(crate) async fn delete(
    State(app): State<App>,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    PathParams((id, label)): PathParams<(String, String)>,
) -> Result<Json<Value>, HttpError> {
    require_label(&app, &principal, &label)?;
    let name = LabelName::parse(&label)?;
    let id = ids::canonical_skill_id(&id);
    let label = store.delete_label(&principal.tenant, id, &name).await?;
    Ok(Json(json!({
        "type": "skill_label_deleted",
        "skill_id": label.skill,
        "name": label.name,
        "deleted": true,
    })))
}
