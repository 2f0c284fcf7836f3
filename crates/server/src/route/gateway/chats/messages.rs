//! `GET /v1/chat/completions/{id}/messages`

use axum::Json;
use axum::extract::State;
use prowess_store::Order;
use serde_json::{Value, json};

use super::failed;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::{Path, Query};
use crate::route::gateway::listing::{Listing, id as id_of, invalid};

/// The messages of its request, the first one first unless asked otherwise.
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    query: Query,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let listing = Listing::read(&query, Order::Ascending)?;
    let messages = app.store().chat_messages(&caller.tenant, &id).await;
    let messages: Vec<Value> = serde_json::from_str(&messages.map_err(failed(&id))?)
        .map_err(|error| ApiError::internal("chat-completion-malformed", &error))?;
    let named = messages.into_iter().enumerate();
    let mut named: Vec<Value> = named.map(|(at, message)| shown(&id, at, message)).collect();
    if listing.order == Order::Descending {
        named.reverse();
    }
    if let Some(after) = &listing.after {
        let at = named
            .iter()
            .position(|message| id_of(message) == Some(after.as_str()));
        let at = at.ok_or_else(|| invalid("after", "there is no message of this id"))?;
        named.drain(..=at);
    }
    Ok(Json(listing.cut(named)))
}

/// A message with an id made of its completion's, and its content as OpenAI has it: a text,
/// or beside none the parts.
fn shown(completion: &str, at: usize, mut message: Value) -> Value {
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
