//! The rate at which one tenant may create containers.
//!
//! Creating one is work for the server: folders, rows, files. A tenant that creates them
//! continuously would occupy the processors, whatever its limit of containers. So those
//! beyond a burst are created one after the other at a fixed rate; nothing is refused.

use crate::container::tenant_for_owner;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Containers that a tenant may create at once.
const BURST_CONTAINERS: u32 = 64;
/// Containers per second beyond the burst, for each processor.
const CONTAINERS_PER_SECOND_AND_CORE: u32 = 50;
/// Tenants that are tracked before those with a full burst are dropped.
const SWEEP_ABOVE: usize = 1024;

/// The rate of all tenants.
#[derive(Debug)]
pub(super) struct CreateRate {
    interval: Duration,
    /// When each tenant's burst is full again.
    whole_at: Mutex<HashMap<String, Instant>>,
}

impl CreateRate {
    pub(super) fn new(cores: usize) -> Self {
        let cores = u32::try_from(cores.max(1)).unwrap_or(u32::MAX);
        let interval =
            Duration::from_secs(1) / CONTAINERS_PER_SECOND_AND_CORE.saturating_mul(cores);
        Self {
            interval,
            whole_at: Mutex::default(),
        }
    }

    /// Waits until this owner's tenant may create one more.
    pub(super) async fn wait(&self, owner: &str) {
        let due = self.reserve(tenant_for_owner(owner), Instant::now());
        tokio::time::sleep_until(due).await;
    }

    /// Reserves one creation and returns its start time.
    fn reserve(&self, tenant: &str, now: Instant) -> Instant {
        let mut all = self.whole_at.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() > SWEEP_ABOVE {
            all.retain(|_, whole_at| *whole_at > now);
        }
        let before = all.get(tenant).copied().unwrap_or(now).max(now);
        let whole_at = before + self.interval;
        all.insert(tenant.to_owned(), whole_at);
        let wait = (whole_at - now).saturating_sub(self.interval * BURST_CONTAINERS);
        now + wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn beyond_its_burst_a_tenant_waits_and_no_other_does() {
        let pace = CreateRate::new(2);
        let start = Instant::now();
        for _ in 0..BURST_CONTAINERS {
            pace.wait("eager").await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        pace.wait("eager").await;
        pace.wait("eager").await;
        assert_eq!(
            start.elapsed().as_millis(),
            20,
            "two at a hundred in a second"
        );
        let before = Instant::now();
        pace.wait("other").await;
        assert_eq!(before.elapsed(), Duration::ZERO);
        // Package builds count for their tenant.
        pace.wait("\0layers eager").await;
        assert_eq!(before.elapsed().as_millis(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn tenants_that_make_nothing_are_forgotten() {
        let pace = CreateRate::new(1);
        for number in 0..=SWEEP_ABOVE {
            pace.wait(&number.to_string()).await;
        }
        tokio::time::advance(Duration::from_secs(60)).await;
        pace.wait("one more").await;
        assert_eq!(pace.whole_at.lock().unwrap().len(), 1);
    }
}
