//! `GET /v1/conversations/{id}/items`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_store::SortOrder;
use serde_json::Value;

use super::parse_item;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{PathParams, Query};
use crate::route::gateway::conversations::map_store_error;
use crate::route::gateway::list_query::ListQuery;
use crate::stored_answer::StoredAnswer;

/// The items, latest first by default. `include` has no effect: everything is included.
pub(in super::super) async fn list(
    State(app): State<App>,
    principal: Principal,
    query: Query,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let list_query = ListQuery::parse(&query, SortOrder::Descending)?;
    let mut answer = StoredAnswer::begin(&app, &principal.tenant).await?;
    let (after, limit) = (list_query.after.as_deref(), list_query.limit);
    let items =
        app.store()
            .conversation_items(&principal.tenant, &id, list_query.order, after, limit);
    let items = items.await.map_err(map_store_error(&id))?;
    answer.count(items.iter().map(String::as_str)).await?;
    let items: Result<Vec<Value>, HttpError> = items.iter().map(|item| parse_item(item)).collect();
    Ok(answer.send(Json(list_query.to_page(items?)).into_response()))
}
