//! How many refused attempts of a tenant are written. Otherwise a key that may do nothing could
//! fill the log.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use prowess_store::TenantId;

/// Refused attempts of a tenant that are written per window.
const MAX_REFUSALS: u32 = 120;
const WINDOW: Duration = Duration::from_secs(60);
/// Tenants that are tracked; when exceeded, all windows begin again.
const MAX_TRACKED_TENANTS: usize = 10_000;

/// The refused attempts of each tenant in its current window.
#[derive(Default)]
pub(crate) struct RefusalBudget(Mutex<HashMap<TenantId, (Instant, u32)>>);

impl RefusalBudget {
    /// Whether another refused attempt of a tenant is written.
    pub(super) fn take(&self, tenant: &TenantId) -> bool {
        let now = Instant::now();
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= MAX_TRACKED_TENANTS && !windows.contains_key(tenant) {
            windows.clear();
        }
        let (began, count) = windows.entry(tenant.clone()).or_insert((now, 0));
        if now.duration_since(*began) >= WINDOW {
            (*began, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        *count <= MAX_REFUSALS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_uses_up_its_own_refusals_only() {
        let budget = RefusalBudget::default();
        let (one, other) = (TenantId::new("one"), TenantId::new("other"));
        let (one, other) = (one.unwrap(), other.unwrap());
        let written = (0..MAX_REFUSALS * 2).filter(|_| budget.take(&one));
        assert_eq!(written.count(), MAX_REFUSALS as usize);
        assert!(budget.take(&other));
    }
}
