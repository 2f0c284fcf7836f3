//! `GET /v1/containers`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::{page, told};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Query;
use crate::page::limit;

pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    query: Query,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let limit = limit(&query, 20)?;
    let mut all = app.engine().containers(&caller.tenant).list().await?;
    if let Some(name) = query.get("name") {
        all.retain(|container| container.name == name);
    }
    let all = crate::page::ordered(all, &query)?;
    let all = all.iter().map(told).collect();
    Ok(Json(page(all, query.get("after"), limit)))
}
