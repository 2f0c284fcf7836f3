//! Below `/v1/conversations/{id}/items`.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod list;

use serde_json::Value;

use crate::error::ApiError;

/// An item as it was kept.
fn read(item: &str) -> Result<Value, ApiError> {
    serde_json::from_str(item).map_err(|error| ApiError::internal("item-malformed", &error))
}
