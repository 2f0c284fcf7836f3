//! Tracks how much was written for each tenant recently, so that stored data other than
//! skills and files is trimmed soon after it exceeds its limit.
//!
//! Summing up the stored sizes scans all rows, so it is done once for many writes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::tenant::TenantId;

/// Bytes written by a tenant after which its rows are checked.
const CHECK_INTERVAL_BYTES: u64 = 64 << 20;
/// Tenants tracked; beyond that all are checked once more.
const MAX_TRACKED_TENANTS: usize = 10_000;

/// Bytes written since the last check, by tenant.
#[derive(Debug, Default)]
pub(crate) struct TenantGrowth(Mutex<HashMap<TenantId, u64>>);

impl TenantGrowth {
    /// Records a write. Returns true if a check is due.
    pub(crate) fn record(&self, tenant: &TenantId, bytes: usize) -> bool {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if written.len() >= MAX_TRACKED_TENANTS && !written.contains_key(tenant) {
            written.clear();
        }
        // A newly started process does not know earlier writes, so the first one is due.
        let sum = written
            .entry(tenant.clone())
            .or_insert(CHECK_INTERVAL_BYTES);
        *sum = sum.saturating_add(bytes as u64);
        let due = *sum >= CHECK_INTERVAL_BYTES;
        if due {
            *sum = 0;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_time_to_look_at_first_and_then_after_many_bytes() {
        let (growth, tenant) = (TenantGrowth::default(), TenantId::default_tenant());
        assert!(growth.record(&tenant, 1));
        assert!(!growth.record(&tenant, 1));
        assert!(!growth.record(&tenant, 40 << 20));
        assert!(growth.record(&tenant, 40 << 20));
        assert!(!growth.record(&tenant, 1));
        assert!(growth.record(&TenantId::new("other").unwrap(), 1));
    }
}
