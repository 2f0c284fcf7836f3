//! `GET /v1/conversations/{id}/items`

use axum::Json;
use axum::extract::State;
use prowess_store::Order;
use serde_json::Value;

use super::read;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::{Path, Query};
use crate::route::gateway::conversations::failed;
use crate::route::gateway::listing::Listing;

/// The items, the latest first unless asked otherwise. `include` asks for nothing that is
/// not there already.
pub(in super::super) async fn list(
    State(app): State<App>,
    caller: Caller,
    query: Query,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let listing = Listing::read(&query, Order::Descending)?;
    let (after, limit) = (listing.after.as_deref(), listing.limit);
    let items = app
        .store()
        .conversation_items(&caller.tenant, &id, listing.order, after, limit);
    let items = items.await.map_err(failed(&id))?;
    let items: Result<Vec<Value>, ApiError> = items.iter().map(|item| read(item)).collect();
    Ok(Json(listing.cut(items?)))
}
