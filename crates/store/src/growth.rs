//! How much was written for each tenant lately, so that what a tenant keeps beside
//! skills and files is cut back before it has grown much beyond its bound.
//!
//! Adding up what is there costs a walk over its rows; it is done once for many writes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::tenant::TenantId;

/// Bytes written after which a tenant's rows are looked at.
const CHECK_INTERVAL_BYTES: u64 = 64 << 20;
/// Tenants remembered; beyond that all are looked at once more.
const MAX_TRACKED_TENANTS: usize = 10_000;

/// Bytes since the rows of a tenant were last looked at.
#[derive(Debug, Default)]
pub(crate) struct TenantGrowth(Mutex<HashMap<TenantId, u64>>);

impl TenantGrowth {
    /// Notes a write. True: it is time to look.
    pub(crate) fn record(&self, tenant: &TenantId, bytes: usize) -> bool {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if written.len() >= MAX_TRACKED_TENANTS && !written.contains_key(tenant) {
            written.clear();
        }
        // A process that was just started does not know what came before.
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
