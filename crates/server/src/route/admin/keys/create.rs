//! `POST /v1/admin/keys`

use axum::extract::{FromRequest, Request, State};
use prowess_store::{Error as StoreError, ResourceKind, TenantId};
use serde_json::Value;

use super::body::NewKeyBody;
use super::granter;
use super::key_json::created_json;
use crate::app::App;
use crate::audit::AuditedStore;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::Json;

pub(crate) async fn create(
    State(app): State<App>,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    request: Request,
) -> Result<axum::Json<Value>, HttpError> {
    principal.require(Permission::Administer)?;
    let Json(body): Json<NewKeyBody> = Json::from_request(request, &app).await?;
    let tenant = tenant_of_key(&principal, body.tenant.as_deref())?;
    let (scopes, limits) = (body.scopes()?, body.limits()?);
    let new = body.key(&scopes)?;
    if principal.key().is_none() {
        store.ensure_tenant(&tenant, tenant.as_str()).await?;
    }
    let granter = granter(&principal);
    let created = store.create_granted_key(&tenant, &new, &limits, &granter);
    let (key, secret) = created.await?;
    Ok(axum::Json(created_json(&key, &secret)))
}

/// The tenant that gets the key. A key sees no tenant but its own.
fn tenant_of_key(principal: &Principal, requested: Option<&str>) -> Result<TenantId, HttpError> {
    let Some(requested) = requested else {
        return Ok(principal.tenant.clone());
    };
    let requested = TenantId::new(requested)?;
    if principal.key().is_some() && requested != principal.tenant {
        let missing = StoreError::NotFound {
            kind: ResourceKind::Tenant,
            id: requested.as_str().to_owned(),
        };
        return Err(missing.into());
    }
    Ok(requested)
}
