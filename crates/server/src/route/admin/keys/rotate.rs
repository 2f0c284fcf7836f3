//! `POST /v1/admin/keys/{key}/rotate`

use axum::extract::{FromRequest, Request, State};
use axum::http::header::CONTENT_TYPE;
use serde_json::Value;

use super::super::tenant_of;
use super::body::RotationBody;
use super::granter;
use super::key_json::created_json;
use crate::app::App;
use crate::audit::AuditedStore;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{Json, PathParams, Query};

/// Without a body, the secret that the key had is refused at once.
pub(crate) async fn rotate(
    State(app): State<App>,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    query: Query,
    PathParams(id): PathParams<String>,
    request: Request,
) -> Result<axum::Json<Value>, HttpError> {
    principal.require(Permission::Administer)?;
    let tenant = tenant_of(&principal, &query)?;
    let body = if request.headers().contains_key(CONTENT_TYPE) {
        let Json(body) = Json::<RotationBody>::from_request(request, &app).await?;
        body
    } else {
        RotationBody::default()
    };
    let granter = granter(&principal);
    let rotated = store.rotate_key(tenant.as_ref(), &id, body.grace()?, &granter);
    let (key, secret) = rotated.await?;
    Ok(axum::Json(created_json(&key, &secret)))
}
