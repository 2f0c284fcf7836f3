//! `/v1/chat/completions`: completions stored here. OpenAI stores those of its own models
//! itself.

mod delete;
mod get;
mod list;
mod messages;
mod update;

use axum::Router;
use axum::http::StatusCode;
use axum::routing;
use prowess_store::{ChatRecord, Error as StoreError, ResourceKind};
use prowess_wire::excerpt;
use serde_json::Value;

use super::list_query::invalid_param;
use crate::app::App;
use crate::error::HttpError;
use crate::metadata;

/// The routes, at the paths that `at` returns.
pub(super) fn routes(at: impl Fn(&str) -> String) -> Router<App> {
    Router::new()
        .route(&at("/chat/completions"), routing::get(list::list))
        .route(
            &at("/chat/completions/{id}"),
            routing::get(get::get)
                .post(update::update)
                .delete(delete::delete),
        )
        .route(
            &at("/chat/completions/{id}/messages"),
            routing::get(messages::list),
        )
}

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
