//! `DELETE /v1/admin/keys/{key}`: revokes a key. It stays listed, as usage and the audit log
//! name it.

use axum::Json;
use serde_json::Value;

use super::super::tenant_of;
use super::key_json::key_json;
use crate::audit::AuditedStore;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{PathParams, Query};

pub(crate) async fn revoke(
    principal: Principal,
    AuditedStore(store): AuditedStore,
    query: Query,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::Administer)?;
    let tenant = tenant_of(&principal, &query)?;
    let key = store.revoke_any_key(tenant.as_ref(), &id).await?;
    Ok(Json(key_json(&key)))
}
