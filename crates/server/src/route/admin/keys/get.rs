//! `GET /v1/admin/keys/{key}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::super::tenant_of;
use super::key_json::key_json;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{PathParams, Query};

pub(crate) async fn get(
    State(app): State<App>,
    principal: Principal,
    query: Query,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::Administer)?;
    let tenant = tenant_of(&principal, &query)?;
    let key = app.store().key(tenant.as_ref(), &id).await?;
    Ok(Json(key_json(&key)))
}
