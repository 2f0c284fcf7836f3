//! How many changes the keys of a tenant make. The log only grows: otherwise a key that moves a label
//! back and forth, or creates and deletes files, would fill it, and nobody could upload anything any
//! more. Cancelling is never refused, because what is not cancelled goes on and costs: beyond the
//! limit it leaves no entry.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::Store;
use crate::error::{Error, Result};
use crate::tenant::TenantId;

const WINDOW: Duration = Duration::from_secs(60 * 60);
/// Tenants that are tracked; when exceeded, all windows begin again.
const MAX_TRACKED_TENANTS: usize = 10_000;

/// The changes of each tenant in its current window.
#[derive(Debug)]
pub(crate) struct ChangeBudget {
    limit: u32,
    windows: Mutex<HashMap<TenantId, ChangeWindow>>,
}

/// The changes of one tenant.
#[derive(Debug)]
struct ChangeWindow {
    began: Instant,
    changes: u32,
    /// Counted apart: who cancels much may still change other things.
    cancellations: u32,
}

impl Store {
    /// Fails when the keys of a tenant have made as many changes as they may, of those that count
    /// ([`AuditAction::is_counted`]). Asked before a change that no transaction of the store writes
    /// to the log. It counts once it has its entry, so changes that are made at the same time may
    /// exceed the limit together.
    ///
    /// # Errors
    /// When they have.
    ///
    /// [`AuditAction::is_counted`]: crate::AuditAction::is_counted
    pub fn check_changes(&self, tenant: &TenantId) -> Result<()> {
        self.change_budget().check(tenant)
    }

    /// Whether the log takes another entry of what a key of a tenant has cancelled
    /// ([`AuditAction::is_cancellation`]). If so, it is counted.
    ///
    /// [`AuditAction::is_cancellation`]: crate::AuditAction::is_cancellation
    pub fn take_cancellation(&self, tenant: &TenantId) -> bool {
        self.change_budget().take_cancellation(tenant)
    }
}

impl ChangeBudget {
    /// So many changes of each tenant per hour.
    pub(crate) fn new(limit: u32) -> ChangeBudget {
        ChangeBudget {
            limit,
            windows: Mutex::default(),
        }
    }

    /// Counts another change of a tenant.
    ///
    /// # Errors
    /// When it has made as many as it may.
    pub(super) fn take(&self, tenant: &TenantId) -> Result<()> {
        self.in_window(tenant, |window| {
            window.check(self.limit)?;
            window.changes = window.changes.saturating_add(1);
            Ok(())
        })
    }

    /// Fails when a tenant has made as many changes as it may.
    fn check(&self, tenant: &TenantId) -> Result<()> {
        self.in_window(tenant, |window| window.check(self.limit))
    }

    /// Counts a change that was made, also beyond the limit.
    pub(super) fn count(&self, tenant: &TenantId) {
        self.in_window(tenant, |window| {
            window.changes = window.changes.saturating_add(1);
        });
    }

    /// Counts another cancellation of a tenant; false when the log has as many as it takes.
    fn take_cancellation(&self, tenant: &TenantId) -> bool {
        self.in_window(tenant, |window| {
            let is_taken = window.cancellations < self.limit;
            window.cancellations += u32::from(is_taken);
            is_taken
        })
    }

    fn in_window<T>(&self, tenant: &TenantId, act: impl FnOnce(&mut ChangeWindow) -> T) -> T {
        let now = Instant::now();
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= MAX_TRACKED_TENANTS && !windows.contains_key(tenant) {
            windows.clear();
        }
        let new = || ChangeWindow {
            began: now,
            changes: 0,
            cancellations: 0,
        };
        let window = windows.entry(tenant.clone()).or_insert_with(new);
        if now.duration_since(window.began) >= WINDOW {
            *window = new();
        }
        act(window)
    }
}

impl ChangeWindow {
    fn check(&self, limit: u32) -> Result<()> {
        if self.changes < limit {
            return Ok(());
        }
        let wait = WINDOW.saturating_sub(self.began.elapsed());
        Err(Error::TooManyChanges { limit, wait })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(result: Result<()>) -> &'static str {
        result.unwrap_err().code()
    }

    #[test]
    fn a_tenant_uses_up_its_own_changes_only() {
        let budget = ChangeBudget::new(3);
        let (one, other) = (TenantId::new("one"), TenantId::new("other"));
        let (one, other) = (one.unwrap(), other.unwrap());
        for _ in 0..3 {
            budget.check(&one).unwrap();
            budget.take(&one).unwrap();
        }
        assert_eq!(code(budget.check(&one)), "too-many-changes");
        assert_eq!(code(budget.take(&one)), "too-many-changes");
        budget.take(&other).unwrap();
    }

    #[test]
    fn cancellations_are_counted_apart() {
        let budget = ChangeBudget::new(2);
        let tenant = TenantId::default_tenant();
        let taken = [(); 3].map(|()| budget.take_cancellation(&tenant));
        assert_eq!(taken, [true, true, false]);
        budget.take(&tenant).unwrap();
        let other = TenantId::new("other").unwrap();
        assert!(budget.take_cancellation(&other));
    }

    #[test]
    fn a_change_that_was_made_counts_also_beyond_the_limit() {
        let budget = ChangeBudget::new(1);
        let tenant = TenantId::default_tenant();
        budget.count(&tenant);
        budget.count(&tenant);
        let Err(Error::TooManyChanges { limit, wait }) = budget.check(&tenant) else {
            panic!("it has made too many");
        };
        assert_eq!(limit, 1);
        assert!(wait <= WINDOW && wait > WINDOW / 2, "{wait:?}");
    }
}
