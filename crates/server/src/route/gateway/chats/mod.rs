//! Below `/v1/chat/completions`: those that are stored here. OpenAI itself stores the
//! completions of its own models; those are found at OpenAI.

mod delete;
mod get;
mod list;
mod messages;
mod update;

use axum::Router;
use axum::http::StatusCode;
use axum::routing;
use prowess_store::{ChatRecord, Error as StoreError, Kind};
use prowess_wire::excerpt;
use serde_json::Value;

use super::listing::invalid;
use crate::app::App;
use crate::error::ApiError;
use crate::metadata;

/// The routes, at the places that `at` gives for their paths.
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

/// A completion as its client was given it, with what is noted about it.
fn shown(record: &ChatRecord) -> Result<Value, ApiError> {
    let mut completion: Value = serde_json::from_str(&record.completion)
        .map_err(|error| ApiError::internal("chat-completion-malformed", &error))?;
    if let Some(fields) = completion.as_object_mut() {
        fields.insert("metadata".to_owned(), metadata::write(&record.metadata));
    }
    Ok(completion)
}

/// What the store says, in the words of OpenAI's API.
fn failed(id: &str) -> impl Fn(StoreError) -> ApiError + '_ {
    move |error| match error {
        StoreError::NotFound {
            kind: Kind::ChatCompletion,
            ..
        } => {
            let message = format!("Chat completion with id '{}' not found.", excerpt(id));
            ApiError::new(StatusCode::NOT_FOUND, "chat-completion-not-found", message)
        }
        StoreError::Invalid {
            field: "after",
            reason,
        } => invalid("after", &reason),
        other => other.into(),
    }
}
