//! The key of a run, which may have been revoked or changed since its request.

use std::sync::Arc;

use prowess_engine::RunError;
use prowess_store::{Error as StoreError, KeyRecord, KeyScope, TenantId};
use prowess_wire::neutral::{ApiError, ErrorKind};

use crate::app::App;

/// The key with this id.
///
/// # Errors
/// When it is expired or revoked, may not use models, or the store fails.
pub(super) async fn find_key(
    app: &App,
    tenant: &TenantId,
    id: &str,
) -> Result<Arc<KeyRecord>, ApiError> {
    let found = find_stored_key(app, tenant, id).await;
    let found = found.map_err(|error| RunError::from(error).to_api_error())?;
    require_active(found)
}

/// The key with this id, in any state.
///
/// # Errors
/// When the store fails.
pub(super) async fn find_stored_key(
    app: &App,
    tenant: &TenantId,
    id: &str,
) -> Result<Option<Arc<KeyRecord>>, StoreError> {
    let keys = app.store().list_keys(tenant).await?;
    Ok(keys.into_iter().find(|key| key.id == id).map(Arc::new))
}

/// The key, if it may be used for runs.
///
/// # Errors
/// When it is expired, revoked or deleted, or has lost the scope for runs.
pub(super) fn require_active(key: Option<Arc<KeyRecord>>) -> Result<Arc<KeyRecord>, ApiError> {
    let key = key.filter(|key| key.is_active());
    let key = key.ok_or_else(|| ApiError {
        code: Some("key-unknown".to_owned()),
        ..ApiError::new(
            ErrorKind::Authentication,
            "the API key of this run is expired or revoked",
        )
    })?;
    if key.allows(KeyScope::Use) {
        return Ok(key);
    }
    let needed = KeyScope::Use.as_str();
    let message = format!("key `{}` lacks a required scope: {needed}", key.prefix);
    Err(ApiError {
        code: Some("key-scope".to_owned()),
        ..ApiError::new(ErrorKind::Permission, message)
    })
}
