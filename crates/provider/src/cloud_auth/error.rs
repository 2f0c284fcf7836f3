//! Errors of credentials, as this crate's.

use prowess_cloud::CloudError;

use crate::key::KeyError;

/// The error as one about a provider's key.
pub(super) fn key_error(error: &CloudError) -> KeyError {
    KeyError::Credentials(error.to_string())
}
