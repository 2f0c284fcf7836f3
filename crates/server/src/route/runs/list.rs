//! `GET /v1/runs`

use axum::Json;
use axum::extract::State;
use prowess_store::{RunFilter, SortOrder};
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::Query;
use crate::{page, render};

pub(crate) async fn list(
    State(app): State<App>,
    principal: Principal,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::ReadRuns)?;
    let _permit = app.transfers().acquire_list(&principal.tenant).await?;
    let request = page::parse_anthropic(&query, SortOrder::Descending)?;
    let filter = RunFilter {
        model: query.get("model"),
        skill: query.get("skill"),
        key: query.get("key"),
        state: query.get("state"),
        since: query.time("since")?,
        until: query.time("until")?,
    };
    let (store, tenant) = (app.store(), &principal.tenant);
    let page = store.list_filtered_runs(tenant, &filter, &request).await?;
    let next = page.next.as_ref().map(prowess_store::PageCursor::encode);
    let runs: Vec<Value> = page.items.iter().map(render::run).collect();
    Ok(Json(
        json!({"data": runs, "has_more": next.is_some(), "next_page": next}),
    ))
}
