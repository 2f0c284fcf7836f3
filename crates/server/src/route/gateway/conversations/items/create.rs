//! `POST /v1/conversations/{id}/items`

use axum::extract::{FromRequest, Request, State};
use prowess_store::SortOrder;
use serde_json::{Map, Value};

use super::parse_item;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{CountedJson, PathParams};
use crate::route::gateway::conversations::{invalid_param, map_store_error, new_items, read_items};
use crate::route::gateway::list_query::ListQuery;

/// Appends items; returns those that were sent.
pub(in super::super) async fn create(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
    request: Request,
) -> Result<axum::Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let CountedJson {
        value: body,
        memory: _memory,
    } = CountedJson::<Map<String, Value>>::from_request(request, &app).await?;
    let items = read_items(body.get("items"))?;
    if items.is_empty() {
        return Err(invalid_param("items", "is missing or has no items"));
    }
    let new = new_items(&items);
    let kept = app.settings().response_retention;
    let store = app.store();
    let added = store.add_conversation_items(&principal.tenant, &id, &new, kept);
    added.await.map_err(map_store_error(&id))?;
    let data: Result<Vec<Value>, HttpError> =
        items.iter().map(|(_, item)| parse_item(item)).collect();
    let all = ListQuery {
        limit: u32::MAX,
        order: SortOrder::Ascending,
        after: None,
    };
    Ok(axum::Json(all.to_page(data?)))
}
