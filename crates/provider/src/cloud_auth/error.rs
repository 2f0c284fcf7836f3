//! Errors of credentials, as this crate's.

use prowess_cloud::CloudError;

use crate::key::KeyError;

/// The error as one about a provider's key.
pub(super) fn key_error(error: &CloudError) -> KeyError {
    let reason = error.to_string();
    match error.retry_after() {
        Some(retry_in) => KeyError::CredentialsUnavailable { reason, retry_in },
        None => KeyError::Credentials(reason),
    }
}
