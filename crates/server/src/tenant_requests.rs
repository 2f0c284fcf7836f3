//! Limits the concurrent requests of one tenant.
//!
//! Each request occupies a connection for as long as its response takes. A tenant that could
//! use all of them would leave none to others. Counting takes no lock: tenants have counters
//! by a hash of their names, so that two tenants may share one, which makes their share
//! smaller and never larger.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use prowess_store::TenantId;

use crate::error::HttpError;

/// Number of counters.
const COUNTER_COUNT: usize = 4_096;
/// Retry delay sent to clients.
const RETRY_SECONDS: u64 = 1;

/// Active requests.
pub(crate) struct TenantRequests {
    limit: usize,
    counters: Arc<[AtomicUsize]>,
    hasher: RandomState,
}

impl TenantRequests {
    pub(crate) fn new(limit: usize) -> TenantRequests {
        TenantRequests {
            limit: limit.max(1),
            counters: (0..COUNTER_COUNT).map(|_| AtomicUsize::new(0)).collect(),
            hasher: RandomState::new(),
        }
    }

    /// The same counters with another limit.
    pub(crate) fn with_limit(&self, limit: usize) -> TenantRequests {
        TenantRequests {
            limit: limit.max(1),
            counters: Arc::clone(&self.counters),
            hasher: self.hasher.clone(),
        }
    }

    /// Counts a request until the returned value is dropped.
    pub(crate) fn begin(&self, tenant: &TenantId) -> Result<TenantRequest, HttpError> {
        let hash = self.hasher.hash_one(tenant.as_str());
        let at = usize::try_from(hash % COUNTER_COUNT as u64).unwrap_or_default();
        let request = TenantRequest {
            counters: Arc::clone(&self.counters),
            at,
        };
        let before = request
            .counter()
            .map_or(0, |counter| counter.fetch_add(1, Ordering::Relaxed));
        if before < self.limit {
            Ok(request)
        } else {
            Err(too_many_error(self.limit))
        }
    }
}

/// One active request of a tenant; uncounted on drop.
#[derive(Debug)]
pub(crate) struct TenantRequest {
    counters: Arc<[AtomicUsize]>,
    at: usize,
}

impl TenantRequest {
    /// How many are active, itself included.
    pub(crate) fn active(&self) -> usize {
        self.counter()
            .map_or(1, |counter| counter.load(Ordering::Relaxed))
    }

    fn counter(&self) -> Option<&AtomicUsize> {
        self.counters.get(self.at)
    }
}

impl Drop for TenantRequest {
    fn drop(&mut self) {
        if let Some(counter) = self.counter() {
            counter.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn too_many_error(limit: usize) -> HttpError {
    let message = format!(
        "your tenant has reached its limit of {limit} concurrent requests; try again when one has \
        ended"
    );
    let status = StatusCode::TOO_MANY_REQUESTS;
    HttpError::new(status, "tenant-requests-busy", message).retry_after(RETRY_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_so_many_and_no_more() {
        let requests = TenantRequests::new(2);
        let tenant = TenantId::new("one").unwrap();
        let first = requests.begin(&tenant).unwrap();
        let _second = requests.begin(&tenant).unwrap();
        for _ in 0..3 {
            let refused = requests.begin(&tenant).unwrap_err();
            assert_eq!(refused.code, "tenant-requests-busy");
        }
        drop(first);
        let last = requests.begin(&tenant).unwrap();
        assert_eq!(last.active(), 2);
    }

    #[test]
    fn another_limit_counts_what_is_active() {
        let requests = TenantRequests::new(1);
        let tenant = TenantId::new("one").unwrap();
        let _first = requests.begin(&tenant).unwrap();
        let more = requests.with_limit(2);
        let _second = more.begin(&tenant).unwrap();
        assert!(more.begin(&tenant).is_err());
    }
}
