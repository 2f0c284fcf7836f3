//! `/v1/conversations`: conversations stored here, and their items.
//!
//! A call to a model that names one continues it, whichever provider responds; see
//! `conversation`.

mod create;
mod delete;
mod get;
mod items;
mod update;

use axum::http::StatusCode;
use prowess_store::{ConversationRecord, Error as StoreError, NewItem};
use prowess_wire::excerpt;
use serde_json::{Value, json};

use super::conversation::items as item_format;
use crate::error::HttpError;
use crate::openapi::operation::{Operation, OperationBody, OperationResponse};
use crate::openapi::parameters as query;
use crate::route::table::row::{ObjectKind, PathNames, RouteMethod, RouteRow, on};

/// Items in one request.
const MAX_ITEMS: usize = 20;

pub(in crate::route) static ROUTES: &[RouteRow] = &[
    RouteRow::openai(
        RouteMethod::Post,
        "/conversations",
        |method, _| on(method, create::create),
        Operation::new("Create a conversation", CONVERSATION_OBJECT)
            .body(OperationBody::Conversation),
        PathNames::Nothing("creates an object of the tenant"),
    ),
    RouteRow::openai(
        RouteMethod::Get,
        CONVERSATION,
        |method, _| on(method, get::get),
        Operation::new("Get a conversation", CONVERSATION_OBJECT),
        NAMES_CONVERSATION,
    ),
    RouteRow::openai(
        RouteMethod::Post,
        CONVERSATION,
        |method, _| on(method, update::update),
        Operation::new("Update the metadata of a conversation", CONVERSATION_OBJECT)
            .body(OperationBody::Metadata),
        NAMES_CONVERSATION,
    ),
    RouteRow::openai(
        RouteMethod::Delete,
        CONVERSATION,
        |method, _| on(method, delete::delete),
        Operation::new(
            "Delete a conversation",
            OperationResponse::Object("Deleted"),
        ),
        NAMES_CONVERSATION,
    ),
    RouteRow::openai(
        RouteMethod::Get,
        ITEMS,
        |method, _| on(method, items::list::list),
        Operation::new("List the items of a conversation", OperationResponse::Json)
            .query(query::ITEMS),
        NAMES_CONVERSATION,
    ),
    RouteRow::openai(
        RouteMethod::Post,
        ITEMS,
        |method, _| on(method, items::create::create),
        Operation::new("Add items", OperationResponse::Json).body(OperationBody::Items),
        NAMES_CONVERSATION,
    ),
    RouteRow::openai(
        RouteMethod::Get,
        ITEM,
        |method, _| on(method, items::get::get),
        Operation::new("Get an item of a conversation", OperationResponse::Json),
        NAMES_ITEM,
    ),
    RouteRow::openai(
        RouteMethod::Delete,
        ITEM,
        |method, _| on(method, items::delete::delete),
        Operation::new("Delete an item", CONVERSATION_OBJECT),
        NAMES_ITEM,
    ),
];

const CONVERSATION: &str = "/conversations/{id}";
const ITEMS: &str = "/conversations/{id}/items";
const ITEM: &str = "/conversations/{id}/items/{item}";
const CONVERSATION_OBJECT: OperationResponse = OperationResponse::Object("Conversation");
const NAMES_CONVERSATION: PathNames = PathNames::Objects(&[ObjectKind::Conversation]);
const NAMES_ITEM: PathNames =
    PathNames::Objects(&[ObjectKind::Conversation, ObjectKind::ConversationItem]);

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
