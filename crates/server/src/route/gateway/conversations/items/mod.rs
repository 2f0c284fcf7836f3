//! `/v1/conversations/{id}/items`.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod list;

use serde_json::Value;

use crate::error::HttpError;

/// Parses a stored item.
fn parse_item(item: &str) -> Result<Value, HttpError> {
    serde_json::from_str(item).map_err(|error| HttpError::internal("item-malformed", &error))
}
