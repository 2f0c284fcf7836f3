//! Looks up the stored conversation that a request belongs to.

use prowess_store::{
    ConversationRecord, Error as StoreError, MAX_CONVERSATION_BYTES, MAX_CONVERSATION_ITEMS, Store,
    TenantId,
};
use serde_json::Value;

use super::{errors, items};
use crate::error::HttpError;
use crate::route::gateway::error::GatewayError;
use crate::route::gateway::request_memory::RequestMemory;

/// Bytes reserved for a response. One that could not be stored would be paid for and then
/// missing from its conversation.
const RESERVED_ANSWER_BYTES: u64 = 1 << 20;
/// Items reserved for a response.
const RESERVED_ANSWER_ITEMS: u64 = 100;

/// The id in `conversation`: a string, or an object with one.
pub(super) fn parse_id(field: Option<&str>) -> Result<Option<String>, GatewayError> {
    let value: Value = match field {
        None => return Ok(None),
        Some(text) => serde_json::from_str(text).unwrap_or_default(),
    };
    match value {
        Value::Null => Ok(None),
        Value::String(id) => Ok(Some(id)),
        Value::Object(mut fields) => match fields.remove("id") {
            Some(Value::String(id)) => Ok(Some(id)),
            _ => Err(errors::conversation_invalid()),
        },
        _ => Err(errors::conversation_invalid()),
    }
}

/// A conversation and its items, which are counted; none if it is not stored here.
pub(super) async fn load(
    store: &Store,
    tenant: &TenantId,
    id: &str,
    memory: &mut RequestMemory<'_>,
) -> Result<Option<(ConversationRecord, Vec<Value>)>, GatewayError> {
    let (record, items) = match store.conversation_with_items(tenant, id).await {
        Ok(found) => found,
        Err(StoreError::NotFound { .. } | StoreError::NulInText) => return Ok(None),
        Err(error) => return Err(HttpError::from(error).into()),
    };
    memory.count(items.iter().map(String::as_str)).await?;
    let items: Result<_, _> = items
        .iter()
        .map(|item| serde_json::from_str(item))
        .collect();
    let items = items.map_err(|error| errors::malformed_record(&error))?;
    Ok(Some((record, items)))
}

/// Rejects a request whose conversation has no space for its input and a response.
pub(super) fn check_capacity(
    record: &ConversationRecord,
    input: &[Value],
) -> Result<(), GatewayError> {
    // In their stored form.
    let size = |item: &Value| items::complete(item.clone()).to_string().len() as u64;
    let bytes = record.size + input.iter().map(size).sum::<u64>();
    let number = record.items + input.len() as u64;
    let full = bytes.saturating_add(RESERVED_ANSWER_BYTES) > MAX_CONVERSATION_BYTES
        || number.saturating_add(RESERVED_ANSWER_ITEMS) > MAX_CONVERSATION_ITEMS as u64;
    if full {
        Err(errors::conversation_full(number, bytes))
    } else {
        Ok(())
    }
}
