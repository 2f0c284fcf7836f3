//! `POST /v1/conversations/{id}/items`

use axum::extract::{FromRequest, Request, State};
use prowess_store::Order;
use serde_json::{Map, Value};

use super::read;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::{Json, Path};
use crate::route::gateway::conversations::{failed, invalid, new_items, read_items};
use crate::route::gateway::listing::Listing;

/// Adds items at the end; gives those that were sent.
pub(in super::super) async fn create(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<axum::Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let Json(body) = Json::<Map<String, Value>>::from_request(request, &app).await?;
    let items = read_items(body.get("items"))?;
    if items.is_empty() {
        return Err(invalid("items", "is missing or has no items"));
    }
    let new = new_items(&items);
    let kept = app.settings().responses_kept;
    let store = app.store();
    let added = store.add_conversation_items(&caller.tenant, &id, &new, kept);
    added.await.map_err(failed(&id))?;
    let data: Result<Vec<Value>, ApiError> = items.iter().map(|(_, item)| read(item)).collect();
    let all = Listing {
        limit: u32::MAX,
        order: Order::Ascending,
        after: None,
    };
    Ok(axum::Json(all.cut(data?)))
}
