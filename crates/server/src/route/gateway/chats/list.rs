//! `GET /v1/chat/completions`

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_store::{ChatFilter, SortOrder};
use serde_json::Value;

use super::{completion_json, map_store_error};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::Query;
use crate::route::gateway::list_query::{ListQuery, invalid_param, list_json};
use crate::stored_answer::StoredAnswer;

/// Metadata entries in one filter.
const MAX_METADATA_FILTERS: usize = 16;

/// Filtered by model or metadata (`metadata[key]=value`); oldest first by default.
pub(super) async fn list(
    State(app): State<App>,
    principal: Principal,
    query: Query,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let list_query = ListQuery::parse(&query, SortOrder::Ascending)?;
    let filter = ChatFilter {
        model: query.get("model").map(str::to_owned),
        metadata: metadata_filter(&query)?,
        after: list_query.after.clone(),
        order: list_query.order,
        limit: list_query.limit,
    };
    let mut answer = StoredAnswer::begin(&app, &principal.tenant).await?;
    let found = app.store().list_chats(&principal.tenant, &filter).await;
    let found = found.map_err(map_store_error(""))?;
    let texts = found.chats.iter().map(|chat| chat.completion.as_str());
    answer.count(texts).await?;
    let chats: Result<Vec<Value>, HttpError> = found.chats.iter().map(completion_json).collect();
    Ok(answer.send(Json(list_json(&chats?, found.has_more)).into_response()))
}

fn metadata_filter(query: &Query) -> Result<BTreeMap<String, String>, HttpError> {
    let pairs = query.pairs().filter_map(|(name, value)| {
        let key = name.strip_prefix("metadata[")?.strip_suffix(']')?;
        Some((key.to_owned(), value.to_owned()))
    });
    let filter: BTreeMap<_, _> = pairs.take(MAX_METADATA_FILTERS + 1).collect();
    if filter.len() > MAX_METADATA_FILTERS {
        Err(invalid_param("metadata", "at most 16 entries are allowed"))
    } else {
        Ok(filter)
    }
}
