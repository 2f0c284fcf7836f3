//! `GET /v1/chat/completions/{id}/messages`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_store::SortOrder;
use serde_json::{Value, json};

use super::map_store_error;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{PathParams, Query};
use crate::route::gateway::list_query::{ListQuery, invalid_param, item_id};
use crate::stored_answer::StoredAnswer;

/// The messages of its request, in order by default.
pub(super) async fn list(
    State(app): State<App>,
    principal: Principal,
    query: Query,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let list_query = ListQuery::parse(&query, SortOrder::Ascending)?;
    let mut answer = StoredAnswer::begin(&app, &principal.tenant).await?;
    let messages = app.store().chat_messages(&principal.tenant, &id).await;
    let messages = messages.map_err(map_store_error(&id))?;
    answer.count([messages.as_str()]).await?;
    let messages: Vec<Value> = serde_json::from_str(&messages)
        .map_err(|error| HttpError::internal("chat-completion-malformed", &error))?;
    let numbered = messages.into_iter().enumerate();
    let mut listed: Vec<Value> = numbered
        .map(|(at, message)| message_json(&id, at, message))
        .collect();
    if list_query.order == SortOrder::Descending {
        listed.reverse();
    }
    if let Some(after) = &list_query.after {
        let at = listed
            .iter()
            .position(|message| item_id(message) == Some(after.as_str()));
        let at = at.ok_or_else(|| invalid_param("after", "no message has this id"))?;
        listed.drain(..=at);
    }
    Ok(answer.send(Json(list_query.to_page(listed)).into_response()))
}

/// A message with an id derived from its completion, and content in OpenAI's format: a text,
/// or null with the parts.
fn message_json(completion: &str, at: usize, mut message: Value) -> Value {
    if let Some(fields) = message.as_object_mut() {
        fields.insert("id".to_owned(), format!("{completion}-{at}").into());
        fields.entry("name").or_insert(Value::Null);
        let parts = match fields.get("content") {
            Some(Value::Array(parts)) => Some(json!(parts)),
            _ => None,
        };
        if let Some(parts) = parts {
            fields.insert("content".to_owned(), Value::Null);
            fields.insert("content_parts".to_owned(), parts);
        } else {
            fields.insert("content_parts".to_owned(), Value::Null);
        }
    }
    message
}
