//! `GET /v1/runs`

use axum::Json;
use axum::extract::State;
use prowess_store::Order;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Query;
use crate::{page, render};

pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    query: Query,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::ReadRuns)?;
    let request = page::anthropic(&query, Order::Descending)?;
    let page = app.store().list_runs(&caller.tenant, &request).await?;
    let next = page.next.as_ref().map(prowess_store::Cursor::encode);
    let runs: Vec<Value> = page.items.iter().map(render::run).collect();
    Ok(Json(
        json!({"data": runs, "has_more": next.is_some(), "next_page": next}),
    ))
}
