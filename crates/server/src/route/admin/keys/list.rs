//! `GET /v1/admin/keys`

use axum::Json;
use axum::extract::State;
use prowess_store::SortOrder;
use serde_json::Value;

use super::super::{list_json, tenant_of};
use super::key_json::key_json;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::Query;
use crate::page;

pub(crate) async fn list(
    State(app): State<App>,
    principal: Principal,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::Administer)?;
    let _permit = app.transfers().acquire_list(&principal.tenant).await?;
    let tenant = tenant_of(&principal, &query)?;
    let request = page::parse_anthropic(&query, SortOrder::Descending)?;
    let page = app.store().page_of_keys(tenant.as_ref(), &request).await?;
    Ok(Json(list_json(&page, key_json)))
}
