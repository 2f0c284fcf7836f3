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
    let limit = parse_limit(&query, 20)?;
    let mut all = app.engine().containers(&principal.tenant).list().await?;
    if let Some(name) = query.get("name") {
        all.retain(|container| container.name == name);
    }
    let all = crate::page::apply_order(all, &query)?;
    let all = all.iter().map(container_json).collect();
    Ok(Json(list_page(all, query.get("after"), limit)))
}
