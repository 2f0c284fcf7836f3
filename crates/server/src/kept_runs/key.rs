//! The key of a run, which may have been revoked since its request.

use std::sync::Arc;

use prowess_engine::RunError;
use prowess_store::{KeyRecord, TenantId};
use prowess_wire::neutral::{ApiError, ErrorKind};

use crate::app::App;

/// The key with this id.
///
/// # Errors
/// When it is expired or revoked, or the store fails.
pub(super) async fn find_key(
    app: &App,
    tenant: &TenantId,
    id: &str,
) -> Result<Arc<KeyRecord>, ApiError> {
    let keys = app.store().list_keys(tenant).await;
    let keys = keys.map_err(|error| RunError::from(error).to_api_error())?;
    let found = keys.into_iter().find(|key| key.id == id && key.is_active());
    found.map(Arc::new).ok_or_else(|| ApiError {
        code: Some("key-unknown".to_owned()),
        ..ApiError::new(
            ErrorKind::Authentication,
            "the API key of this run is expired or revoked",
        )
    })
}
