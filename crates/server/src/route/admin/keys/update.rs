//! `PATCH /v1/admin/keys/{key}`

use axum::extract::{FromRequest, Request, State};
use serde_json::Value;

use super::super::tenant_of;
use super::body::KeyChangeBody;
use super::granter;
use super::key_json::key_json;
use crate::app::App;
use crate::audit::AuditedStore;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{Json, PathParams, Query};

pub(crate) async fn update(
    State(app): State<App>,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    query: Query,
    PathParams(id): PathParams<String>,
    request: Request,
) -> Result<axum::Json<Value>, HttpError> {
    principal.require(Permission::Administer)?;
    let tenant = tenant_of(&principal, &query)?;
    let Json(body): Json<KeyChangeBody> = Json::from_request(request, &app).await?;
    let change = body.change()?;
    let granter = granter(&principal);
    let changed = store.update_key(tenant.as_ref(), &id, &change, &granter);
    Ok(axum::Json(key_json(&changed.await?)))
}
