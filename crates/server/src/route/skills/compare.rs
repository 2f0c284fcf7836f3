//! `GET /v1/skills/{skill}/compare?from=…&to=…`: what differs between two versions. No vendor has
//! such a route, so all dialects get the same. Revoked versions can be compared too.

use axum::Json;
use axum::extract::State;
use prowess_skill::compare::compare as compare_skills;
use prowess_store::{VersionRecord, VersionSelector};
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{PathParams, Query};
use crate::ids;
use crate::permitted_work::run_with_permit;

pub(crate) async fn compare(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::ReadSkills)?;
    let selector = |key, default| query.get(key).map_or(Ok(default), VersionSelector::parse);
    let from = selector("from", VersionSelector::Default)?;
    let to = selector("to", VersionSelector::Latest)?;
    let permit = app
        .transfers()
        .acquire_skill_download(&principal.tenant)
        .await?;
    let (store, tenant, id) = (app.store(), &principal.tenant, ids::canonical_skill_id(&id));
    let from = store.resolve_for_reading(tenant, id, &from).await?;
    let to = store.resolve_for_reading(tenant, id, &to).await?;
    let (old, new) = (store.load(&from).await?, store.load(&to).await?);
    // Both are checked and scanned.
    let work = run_with_permit(permit, move || compare_skills(&old, &new)).await;
    let (compared, _permit) = work.map_err(|error| HttpError::internal("compare", &error))?;
    let (from, to) = (&from.detail.version, &to.detail.version);
    let mut object = json!({
        "type": "skill_comparison",
        "skill_id": to.skill,
        "name": to.name,
        "from": side(from),
        "to": side(to),
    });
    let fields = serde_json::to_value(&compared);
    let fields = fields.map_err(|error| HttpError::internal("compare", &error))?;
    if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), fields) {
        object.extend(fields);
    }
    Ok(Json(object))
}

fn side(version: &VersionRecord) -> Value {
    json!({
        "version": version.ordinal.to_string(),
        "version_id": version.id,
        "digest": version.digest.to_string(),
    })
}
