//! `GET /v1/chat/completions`

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use prowess_store::{ChatFilter, Order};
use serde_json::Value;

use super::{failed, shown};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Query;
use crate::route::gateway::listing::{Listing, invalid, page};

/// Notes by which a list can be narrowed.
const MAX_NOTES: usize = 16;

/// Those of a model, or with notes (`metadata[key]=value`); the oldest first unless asked
/// otherwise.
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    query: Query,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let listing = Listing::read(&query, Order::Ascending)?;
    let filter = ChatFilter {
        model: query.get("model").map(str::to_owned),
        metadata: notes(&query)?,
        after: listing.after.clone(),
        order: listing.order,
        limit: listing.limit,
    };
    let found = app.store().chats(&caller.tenant, &filter).await;
    let found = found.map_err(failed(""))?;
    let chats: Result<Vec<Value>, ApiError> = found.chats.iter().map(shown).collect();
    Ok(Json(page(&chats?, found.has_more)))
}

fn notes(query: &Query) -> Result<BTreeMap<String, String>, ApiError> {
    let pairs = query.pairs().filter_map(|(name, value)| {
        let key = name.strip_prefix("metadata[")?.strip_suffix(']')?;
        Some((key.to_owned(), value.to_owned()))
    });
    let notes: BTreeMap<_, _> = pairs.take(MAX_NOTES + 1).collect();
    match notes.len() > MAX_NOTES {
        true => Err(invalid("metadata", "may have 16 entries")),
        false => Ok(notes),
    }
}
