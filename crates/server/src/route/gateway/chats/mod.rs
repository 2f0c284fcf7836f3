//! `/v1/chat/completions`: completions stored here. OpenAI stores those of its own models
//! itself.

mod delete;
mod get;
mod list;
mod messages;
mod update;

use axum::http::StatusCode;
use prowess_store::{ChatRecord, Error as StoreError, ResourceKind};
use prowess_wire::excerpt;
use serde_json::Value;

use super::list_query::invalid_param;
use crate::error::HttpError;
use crate::metadata;
use crate::openapi::operation::{Operation, OperationBody, OperationResponse};
use crate::openapi::parameters as query;
use crate::route::table::row::{ObjectKind, PathNames, RouteMethod, RouteRow, on};

pub(in crate::route) static ROUTES: &[RouteRow] = &[
    RouteRow::openai(
        RouteMethod::Get,
        "/chat/completions",
        |method, _| on(method, list::list),
        Operation::new("List stored completions", OperationResponse::Json).query(query::CHATS),
        PathNames::OwnList,
    ),
    RouteRow::openai(
        RouteMethod::Get,
        COMPLETION,
        |method, _| on(method, get::get),
        Operation::new("Get a stored completion", OperationResponse::Json),
        NAMES_COMPLETION,
    ),
    RouteRow::openai(
        RouteMethod::Post,
        COMPLETION,
        |method, _| on(method, update::update),
        Operation::new(
            "Update the metadata of a completion",
            OperationResponse::Json,
        )
        .body(OperationBody::Metadata),
        NAMES_COMPLETION,
    ),
    RouteRow::openai(
        RouteMethod::Delete,
        COMPLETION,
        |method, _| on(method, delete::delete),
        Operation::new(
            "Delete a stored completion",
            OperationResponse::Object("Deleted"),
        ),
        NAMES_COMPLETION,
    ),
    RouteRow::openai(
        RouteMethod::Get,
        "/chat/completions/{id}/messages",
        |method, _| on(method, messages::list),
        Operation::new("List the messages of a completion", OperationResponse::Json)
            .query(query::ITEMS),
        NAMES_COMPLETION,
    ),
];

const COMPLETION: &str = "/chat/completions/{id}";
const NAMES_COMPLETION: PathNames = PathNames::Objects(&[ObjectKind::ChatCompletion]);

/// A completion as sent to its client, with its metadata.
fn completion_json(record: &ChatRecord) -> Result<Value, HttpError> {
    let mut completion: Value = serde_json::from_str(&record.completion)
        .map_err(|error| HttpError::internal("chat-completion-malformed", &error))?;
    if let Some(fields) = completion.as_object_mut() {
        fields.insert("metadata".to_owned(), metadata::to_json(&record.metadata));
    }
    Ok(completion)
}

/// Maps a store error to OpenAI's wording.
fn map_store_error(id: &str) -> impl Fn(StoreError) -> HttpError + '_ {
    move |error| match error {
        StoreError::NotFound {
            kind: ResourceKind::ChatCompletion,
            ..
        } => {
            let message = format!("Chat completion with id '{}' not found.", excerpt(id));
            HttpError::new(StatusCode::NOT_FOUND, "chat-completion-not-found", message)
        }
        StoreError::Invalid {
            field: "after",
            reason,
        } => invalid_param("after", &reason),
        other => other.into(),
    }
}
