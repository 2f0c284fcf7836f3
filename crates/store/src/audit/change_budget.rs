//! How many changes the keys of a tenant make. The log only grows: otherwise a key that moves a label
//! back and forth would fill it, and nobody could upload anything any more.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::tenant::TenantId;

/// Changes of a tenant per window: more than it may have skills.
const MAX_CHANGES: u32 = 20_000;
const WINDOW: Duration = Duration::from_secs(60 * 60);
/// Tenants that are tracked; when exceeded, all windows begin again.
const MAX_TRACKED_TENANTS: usize = 10_000;

/// The changes of each tenant in its current window.
#[derive(Debug, Default)]
pub(crate) struct ChangeBudget(Mutex<HashMap<TenantId, (Instant, u32)>>);

impl ChangeBudget {
    /// Counts another change of a tenant.
    ///
    /// # Errors
    /// When it has made as many as it may.
    pub(super) fn take(&self, tenant: &TenantId) -> Result<()> {
        let now = Instant::now();
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= MAX_TRACKED_TENANTS && !windows.contains_key(tenant) {
            windows.clear();
        }
        let (began, count) = windows.entry(tenant.clone()).or_insert((now, 0));
        if now.duration_since(*began) >= WINDOW {
            (*began, *count) = (now, 0);
        }
        if *count >= MAX_CHANGES {
            return Err(Error::TooManyChanges { limit: MAX_CHANGES });
        }
        *count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_uses_up_its_own_changes_only() {
        let budget = ChangeBudget::default();
        let (one, other) = (TenantId::new("one"), TenantId::new("other"));
        let (one, other) = (one.unwrap(), other.unwrap());
        for _ in 0..MAX_CHANGES {
            budget.take(&one).unwrap();
        }
        assert_eq!(budget.take(&one).unwrap_err().code(), "too-many-changes");
        budget.take(&other).unwrap();
    }
}
