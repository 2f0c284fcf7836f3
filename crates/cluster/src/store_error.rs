//! Errors of the store, as those who use containers get them: without details of the database.

use prowess_sandbox::Error;
use prowess_store::{Error as StoreError, TenantId};

/// The error for a caller. What only an operator can act on is logged.
pub(crate) fn store_error(error: StoreError) -> Error {
    match error {
        StoreError::QuotaExceeded {
            limit, used, what, ..
        } => Error::DiskFull {
            limit: what,
            used,
            allowed: limit,
        },
        StoreError::Invalid { .. } | StoreError::FileTooLarge { .. } | StoreError::NulInText => {
            Error::Remote {
                code: error.code().to_owned(),
                message: error.to_string(),
            }
        }
        outage if outage.is_outage() => {
            tracing::warn!(error = %outage, "the store of containers cannot be reached");
            Error::StoreUnreachable
        }
        other => {
            tracing::warn!(error = %other, "the store of containers failed");
            let message = if other.is_transient() {
                "the files of the container cannot be reached at the moment; try again"
            } else {
                "the files of the container cannot be read or stored; see the server's log"
            };
            Error::Remote {
                code: other.code().to_owned(),
                message: message.to_owned(),
            }
        }
    }
}

/// The tenant that an owner of containers is.
pub(crate) fn tenant_of(owner: &str) -> Result<TenantId, Error> {
    TenantId::new(owner).map_err(store_error)
}

/// The error for a container that the owner does not have.
pub(crate) fn not_found(id: &str) -> Error {
    Error::ContainerNotFound { id: id.to_owned() }
}
