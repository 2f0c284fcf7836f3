//! The conversation that a request belongs to, if one that is kept here.

use prowess_store::{Error as StoreError, Store, TenantId};
use serde_json::Value;

use super::refusals;
use crate::error::ApiError;
use crate::route::gateway::failure::Failure;

/// The id in `conversation`: a string, or an object with one.
pub(super) fn named(field: Option<&str>) -> Result<Option<String>, Failure> {
    let value: Value = match field {
        None => return Ok(None),
        Some(text) => serde_json::from_str(text).unwrap_or_default(),
    };
    match value {
        Value::Null => Ok(None),
        Value::String(id) => Ok(Some(id)),
        Value::Object(mut fields) => match fields.remove("id") {
            Some(Value::String(id)) => Ok(Some(id)),
            _ => Err(refusals::conversation_invalid()),
        },
        _ => Err(refusals::conversation_invalid()),
    }
}

/// The items of a conversation; nothing if it is not kept here.
pub(super) async fn items(
    store: &Store,
    tenant: &TenantId,
    id: &str,
) -> Result<Option<Vec<Value>>, Failure> {
    let items = match store.all_conversation_items(tenant, id).await {
        Ok(items) => items,
        Err(StoreError::NotFound { .. } | StoreError::Nul) => return Ok(None),
        Err(error) => return Err(ApiError::from(error).into()),
    };
    let items: Result<_, _> = items
        .iter()
        .map(|item| serde_json::from_str(item))
        .collect();
    items.map(Some).map_err(|error| refusals::malformed(&error))
}
