//! Limits the number of open sockets, overall and per tenant.
//!
//! The first bytes of a message are buffered before they can be counted, so the number of sockets
//! bounds that memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use prowess_store::TenantId;

use crate::error::HttpError;

/// Sockets that one tenant may open with its keys. The operator is limited only by the total.
const MAX_SOCKETS_PER_TENANT: usize = 64;
/// Sockets that may be open.
const MAX_SOCKETS: usize = 1_024;
/// Retry delay sent to clients.
const RETRY_SECONDS: u64 = 5;

/// The open sockets. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct OpenSockets(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    all: usize,
    tenants: HashMap<TenantId, usize>,
}

impl OpenSockets {
    /// Counts a socket until the returned value is dropped.
    pub(super) fn open(&self, tenant: &TenantId, has_key: bool) -> Result<OpenSocket, HttpError> {
        let mut counts = self.counts();
        let own = counts.tenants.get(tenant).copied().unwrap_or_default();
        if has_key && own >= MAX_SOCKETS_PER_TENANT {
            return Err(too_many_for_tenant_error());
        }
        if counts.all >= MAX_SOCKETS {
            return Err(too_many_error());
        }
        counts.all += 1;
        counts.tenants.insert(tenant.clone(), own + 1);
        Ok(OpenSocket {
            sockets: self.clone(),
            tenant: tenant.clone(),
        })
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One open socket; uncounted on drop.
pub(super) struct OpenSocket {
    sockets: OpenSockets,
    tenant: TenantId,
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        let mut counts = self.sockets.counts();
        counts.all = counts.all.saturating_sub(1);
        match counts.tenants.get_mut(&self.tenant) {
            Some(own) if *own > 1 => *own -= 1,
            _ => {
                counts.tenants.remove(&self.tenant);
            }
        }
    }
}

fn too_many_for_tenant_error() -> HttpError {
    let message = format!(
        "your tenant has reached its limit of {MAX_SOCKETS_PER_TENANT} open WebSockets; close \
        one, or send the request with POST"
    );
    let status = StatusCode::TOO_MANY_REQUESTS;
    HttpError::new(status, "tenant-sockets-busy", message).retry_after(RETRY_SECONDS)
}

fn too_many_error() -> HttpError {
    let message = format!(
        "this server has reached its limit of {MAX_SOCKETS} open WebSockets; try again later, or \
        send the request with POST"
    );
    let status = StatusCode::SERVICE_UNAVAILABLE;
    HttpError::new(status, "sockets-busy", message).retry_after(RETRY_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_and_the_server_have_so_many_and_no_more() {
        let sockets = OpenSockets::default();
        let (one, two) = (TenantId::new("one").unwrap(), TenantId::new("two").unwrap());
        let mut open: Vec<_> = (0..MAX_SOCKETS_PER_TENANT)
            .map(|_| sockets.open(&one, true).unwrap())
            .collect();
        let refused = sockets.open(&one, true).err().unwrap();
        assert_eq!(refused.code, "tenant-sockets-busy");
        open.push(sockets.open(&one, false).unwrap());
        while open.len() < MAX_SOCKETS {
            open.push(sockets.open(&two, false).unwrap());
        }
        let refused = sockets.open(&two, false).err().unwrap();
        assert_eq!(refused.code, "sockets-busy");
        drop(open);
        let counts = sockets.counts();
        assert!(counts.all == 0 && counts.tenants.is_empty());
    }
}
