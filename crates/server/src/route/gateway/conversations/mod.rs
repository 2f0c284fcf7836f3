//! `/v1/conversations`: conversations stored here, and their items.
//!
//! A call to a model that names one continues it, whichever provider responds; see
//! `conversation`.

mod create;
mod delete;
mod get;
mod items;
mod update;

use axum::Router;
use axum::http::StatusCode;
use axum::routing;
use prowess_store::{ConversationRecord, Error as StoreError, NewItem};
use prowess_wire::excerpt;
use serde_json::{Value, json};

use super::conversation::items as item_format;
use crate::app::App;
use crate::error::HttpError;

/// Items in one request.
const MAX_ITEMS: usize = 20;

/// The routes, at the paths that `at` returns.
pub(super) fn routes(at: impl Fn(&str) -> String) -> Router<App> {
    Router::new()
        .route(&at("/conversations"), routing::post(create::create))
        .route(
            &at("/conversations/{id}"),
            routing::get(get::get)
                .post(update::update)
                .delete(delete::delete),
        )
        .route(
            &at("/conversations/{id}/items"),
            routing::get(items::list::list).post(items::create::create),
        )
        .route(
            &at("/conversations/{id}/items/{item}"),
            routing::get(items::get::get).delete(items::delete::delete),
        )
}

/// A conversation in OpenAI's format.
fn conversation_json(record: &ConversationRecord) -> Value {
    let metadata: Value = serde_json::from_str(&record.metadata).unwrap_or_else(|_| json!({}));
    json!({
        "id": record.id,
        "object": "conversation",
        "created_at": record.created_at.as_seconds(),
        "metadata": metadata,
    })
}

/// Parses `items`, each with a type, an id and a status.
fn read_items(items: Option<&Value>) -> Result<Vec<(String, String)>, HttpError> {
    let items = match items {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(invalid_param("items", "must be a list of items")),
    };
    if items.len() > MAX_ITEMS {
        return Err(invalid_param(
            "items",
            "at most 20 items are allowed per request",
        ));
    }
    items.iter().enumerate().map(read_item).collect()
}

fn read_item((index, item): (usize, &Value)) -> Result<(String, String), HttpError> {
    let path = format!("items[{index}]");
    let Some(fields) = item.as_object() else {
        return Err(invalid_param(&path, "must be an object"));
    };
    let kind = fields.get("type").and_then(Value::as_str);
    match kind {
        Some("item_reference") => {
            return Err(invalid_param(
                &path,
                "must be an item, not a reference to one",
            ));
        }
        None if !fields.contains_key("role") => {
            return Err(invalid_param(&format!("{path}.type"), "is missing"));
        }
        _ => {}
    }
    let item = item_format::complete(item_format::with_id(item.clone()));
    let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
    Ok((id.to_owned(), item.to_string()))
}

fn new_items(items: &[(String, String)]) -> Vec<NewItem<'_>> {
    items
        .iter()
        .map(|(id, item)| NewItem { id, json: item })
        .collect()
}

/// Maps a store error to OpenAI's wording.
fn map_store_error(id: &str) -> impl Fn(StoreError) -> HttpError + '_ {
    move |error| match error {
        StoreError::NotFound {
            kind: prowess_store::ResourceKind::Conversation,
            ..
        } => not_found_error(id),
        StoreError::NotFound {
            kind: prowess_store::ResourceKind::ConversationItem,
            id: item,
        } => {
            let message = format!("Item with id '{}' not found.", excerpt(&item));
            HttpError::new(
                StatusCode::NOT_FOUND,
                "conversation-item-not-found",
                message,
            )
        }
        StoreError::Invalid {
            field: "after",
            reason,
        } => invalid_param("after", &reason),
        StoreError::ItemIdsTaken { indexes, .. } => {
            let index = indexes.first().copied().unwrap_or_default();
            invalid_param(
                &format!("items[{index}].id"),
                "another item of this conversation has this id; send a different one, or none",
            )
        }
        other => other.into(),
    }
}

fn not_found_error(id: &str) -> HttpError {
    let message = format!("Conversation with id '{}' not found.", excerpt(id));
    HttpError::new(StatusCode::NOT_FOUND, "conversation-not-found", message)
}

fn invalid_param(param: &str, what: &str) -> HttpError {
    HttpError::bad_request("value-invalid", format!("{param}: {what}")).with_detail("param", param)
}
