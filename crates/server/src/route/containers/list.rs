//! `GET /v1/containers`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::{container_json, list_page};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::Query;
use crate::page::parse_limit;

pub(crate) async fn list(
    State(app): State<App>,
    principal: Principal,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let _permit = app.transfers().acquire_list(&principal.tenant).await?;
    let limit = parse_limit(&query, 20)?;
    let mut found = app.engine().containers(&principal.tenant).list().await?;
    if let Some(name) = query.get("name") {
        found.retain(|container| container.name == name);
    }
    let ordered = crate::page::apply_order(found, &query)?;
    let items = ordered.iter().map(container_json).collect();
    Ok(Json(list_page(items, query.get("after"), limit)))
}
