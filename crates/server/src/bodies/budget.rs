//! Bytes of request bodies in memory, overall and per tenant.
//!
//! A body reserves bytes as they arrive, not by its content length, and holds them until its
//! request no longer needs it. A tenant's large bodies may use half of the total, and those of
//! all tenants three quarters, so that small bodies always fit. The first bytes of every body,
//! which is all of most bodies, are counted without a lock: in a counter selected by a hash of
//! the tenant's name, so that two tenants may share a counter.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use prowess_store::TenantId;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::error::HttpError;
use crate::settings::ServerSettings;

/// Counters for the first bytes of bodies.
const COUNTER_COUNT: usize = 1_024;
/// First bytes of a body that are counted without a lock.
const MAX_SMALL_BYTES: usize = 64 << 10;
/// How often a waiting body retries without a notification: bytes that another body counted
/// for a moment, before it failed to fit, may have blocked it.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// Retry delay sent to clients.
const RETRY_SECONDS: u64 = 5;

/// Bytes of the largest body that is accepted.
fn largest_body(settings: &ServerSettings) -> usize {
    let skill = &settings.skill_limits;
    let skill = skill.total_bytes.max(skill.archive_bytes);
    let skill = usize::try_from(skill).unwrap_or(usize::MAX);
    skill.max(settings.request_bytes)
}

/// The budget for bytes in memory.
pub(crate) struct BodyBudget {
    limit: usize,
    /// Of all large bodies, without their first bytes.
    large_limit: usize,
    /// Of one tenant's large bodies.
    tenant_share: usize,
    /// Of the first bytes in one counter: half of what large bodies leave.
    small_share: usize,
    small_limit: usize,
    /// How long a body waits for others to release bytes.
    wait: Duration,
    used: AtomicUsize,
    large_used: AtomicUsize,
    small_counters: Box<[AtomicUsize]>,
    hasher: RandomState,
    large: Mutex<HashMap<TenantId, Arc<AtomicUsize>>>,
    waiting: AtomicUsize,
    freed: Notify,
}

impl BodyBudget {
    pub(crate) fn new(settings: &ServerSettings) -> BodyBudget {
        let largest = largest_body(settings);
        // One body of the maximum size must fit, beside small ones.
        let least = largest.saturating_add(largest.div_ceil(3));
        let limit = settings.body_bytes_in_flight.max(least);
        BodyBudget {
            limit,
            large_limit: limit - limit / 4,
            tenant_share: (limit / 2).max(largest),
            small_share: limit / 8,
            small_limit: MAX_SMALL_BYTES.min(limit / 64),
            wait: settings.body_wait,
            used: AtomicUsize::new(0),
            large_used: AtomicUsize::new(0),
            small_counters: (0..COUNTER_COUNT).map(|_| AtomicUsize::new(0)).collect(),
            hasher: RandomState::new(),
            large: Mutex::default(),
            waiting: AtomicUsize::new(0),
            freed: Notify::new(),
        }
    }

    /// Whether two settings give the same budget.
    pub(crate) fn has_same_bounds(one: &ServerSettings, other: &ServerSettings) -> bool {
        let bounds = |settings: &ServerSettings| {
            let limit = settings.body_bytes_in_flight;
            (largest_body(settings), limit, settings.body_wait)
        };
        bounds(one) == bounds(other)
    }

    /// Bytes of one body that are counted at most; the rest of a larger one is not.
    pub(crate) fn max_body_bytes(&self) -> usize {
        self.tenant_share
    }

    /// An empty reservation for a body of a tenant.
    pub(crate) fn reserve<'a>(&'a self, tenant: &'a TenantId) -> BodyReservation<'a> {
        BudgetReservation::new(self, tenant)
    }

    /// The same for a body that is handed on.
    pub(crate) fn reserve_owned(self: &Arc<Self>, tenant: &TenantId) -> OwnedBodyReservation {
        BudgetReservation::new(Arc::clone(self), tenant.clone())
    }

    /// Counts bytes in every counter concerned, if they fit.
    fn try_acquire(&self, claim: &Claim<'_>, bytes: usize) -> Result<(), Shortage> {
        if !add_within(claim.counter, bytes, claim.bound) {
            return Err(Shortage::Tenant);
        }
        if claim.is_large && !add_within(&self.large_used, bytes, self.large_limit) {
            sub(claim.counter, bytes);
            return Err(Shortage::All);
        }
        if !add_within(&self.used, bytes, self.limit) {
            self.subtract(claim.counter, claim.is_large, bytes);
            return Err(Shortage::All);
        }
        Ok(())
    }

    /// Subtracts bytes from all counters except the total.
    fn subtract(&self, counter: &AtomicUsize, is_large: bool, bytes: usize) {
        sub(counter, bytes);
        if is_large {
            sub(&self.large_used, bytes);
        }
    }

    fn release(&self, counter: &AtomicUsize, is_large: bool, bytes: usize) {
        self.subtract(counter, is_large, bytes);
        sub(&self.used, bytes);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.freed.notify_waiters();
        }
    }

    /// Counts bytes, waiting for a while if necessary.
    async fn acquire(&self, claim: Claim<'_>, bytes: usize) -> Result<(), HttpError> {
        match self.try_acquire(&claim, bytes) {
            Ok(()) => Ok(()),
            Err(_) => Box::pin(self.acquire_when_free(claim, bytes)).await,
        }
    }

    async fn acquire_when_free(&self, claim: Claim<'_>, bytes: usize) -> Result<(), HttpError> {
        let _waiting = WaitingBody::new(&self.waiting);
        let deadline = Instant::now() + self.wait;
        loop {
            let freed = self.freed.notified();
            let Err(shortage) = self.try_acquire(&claim, bytes) else {
                return Ok(());
            };
            if Instant::now() >= deadline {
                return Err(shortage.to_error());
            }
            let next_try = deadline.min(Instant::now() + RETRY_INTERVAL);
            let _ = tokio::time::timeout_at(next_try, freed).await;
        }
    }

    /// Whether a tenant may have one more byte of a large body now.
    #[cfg(test)]
    pub(super) fn has_room_for_large(&self, tenant: &TenantId) -> bool {
        let counters = self.large_counters();
        let own = counters.get(tenant).map(|own| own.load(Ordering::SeqCst));
        own.unwrap_or_default() < self.tenant_share - self.small_limit
    }

    fn large_counters(&self) -> MutexGuard<'_, HashMap<TenantId, Arc<AtomicUsize>>> {
        self.large.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The counters that count bytes, besides the total.
struct Claim<'a> {
    counter: &'a AtomicUsize,
    /// Limit of `counter`.
    bound: usize,
    is_large: bool,
}

/// Adds to a counter unless that would exceed the limit.
fn add_within(counter: &AtomicUsize, bytes: usize, bound: usize) -> bool {
    let add = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= bound);
    counter
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, add)
        .is_ok()
}

fn sub(counter: &AtomicUsize, bytes: usize) {
    counter.fetch_sub(bytes, Ordering::SeqCst);
}

/// Which limit is exceeded.
#[derive(Debug, Clone, Copy)]
enum Shortage {
    All,
    Tenant,
}

impl Shortage {
    fn to_error(self) -> HttpError {
        let (status, code, whose) = match self {
            Shortage::All => (
                StatusCode::SERVICE_UNAVAILABLE,
                "bodies-busy",
                "this server has reached its",
            ),
            Shortage::Tenant => (
                StatusCode::TOO_MANY_REQUESTS,
                "tenant-bodies-busy",
                "your tenant has reached its",
            ),
        };
        let message = format!(
            "{whose} limit of request body bytes in memory; send fewer large requests at once, \
            and try again shortly"
        );
        HttpError::new(status, code, message).retry_after(RETRY_SECONDS)
    }
}

/// Counts a waiting body until dropped.
struct WaitingBody<'a>(&'a AtomicUsize);

impl WaitingBody<'_> {
    fn new(waiting: &AtomicUsize) -> WaitingBody<'_> {
        waiting.fetch_add(1, Ordering::SeqCst);
        WaitingBody(waiting)
    }
}

impl Drop for WaitingBody<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Bytes that one body has reserved; released on drop.
pub(crate) struct BudgetReservation<B: Deref<Target = BodyBudget>, T: Borrow<TenantId>> {
    budget: B,
    tenant: T,
    /// Index of the counter for its first bytes, and how many it counts.
    counter_index: usize,
    small: usize,
    /// Counter of the tenant's large bodies, and how many bytes are of this body.
    large: Option<(Arc<AtomicUsize>, usize)>,
}

/// Of a body that is used where it was read.
pub(crate) type BodyReservation<'a> = BudgetReservation<&'a BodyBudget, &'a TenantId>;
/// Of a body that is handed on.
pub(crate) type OwnedBodyReservation = BudgetReservation<Arc<BodyBudget>, TenantId>;

impl<B: Deref<Target = BodyBudget>, T: Borrow<TenantId>> BudgetReservation<B, T> {
    fn new(budget: B, tenant: T) -> Self {
        let hash = budget.hasher.hash_one(tenant.borrow().as_str());
        // Below the number of counters.
        let counter_index = usize::try_from(hash % COUNTER_COUNT as u64).unwrap_or_default();
        BudgetReservation {
            budget,
            tenant,
            counter_index,
            small: 0,
            large: None,
        }
    }

    /// Reserves more bytes, waiting for a while if necessary.
    pub(crate) async fn grow(&mut self, bytes: usize) -> Result<(), HttpError> {
        let small = bytes.min(self.budget.small_limit - self.small);
        if small > 0
            && let Some(own) = self.budget.small_counters.get(self.counter_index)
        {
            let claim = Claim {
                counter: own,
                bound: self.budget.small_share,
                is_large: false,
            };
            self.budget.acquire(claim, small).await?;
            self.small += small;
        }
        match bytes - small {
            0 => Ok(()),
            large => self.grow_large(large).await,
        }
    }

    async fn grow_large(&mut self, bytes: usize) -> Result<(), HttpError> {
        let budget: &BodyBudget = &self.budget;
        let tenant: &TenantId = self.tenant.borrow();
        let (own, taken) = self.large.get_or_insert_with(|| {
            let mut large = budget.large_counters();
            (Arc::clone(large.entry(tenant.clone()).or_default()), 0)
        });
        // Do not wait for bytes that can never be free.
        let bytes = bytes.min(budget.tenant_share - *taken);
        let claim = Claim {
            counter: own,
            bound: budget.tenant_share,
            is_large: true,
        };
        budget.acquire(claim, bytes).await?;
        *taken += bytes;
        Ok(())
    }
}

impl BodyReservation<'_> {
    /// The same for what is handed on. `budget` is the one that it was made of.
    pub(crate) fn into_owned(mut self, budget: &Arc<BodyBudget>) -> OwnedBodyReservation {
        BudgetReservation {
            budget: Arc::clone(budget),
            tenant: self.tenant.clone(),
            counter_index: self.counter_index,
            small: std::mem::take(&mut self.small),
            large: self.large.take(),
        }
    }
}

impl<B: Deref<Target = BodyBudget>, T: Borrow<TenantId>> Drop for BudgetReservation<B, T> {
    fn drop(&mut self) {
        if let Some((own, taken)) = self.large.take() {
            let mut large = self.budget.large_counters();
            // Only this reservation and the table refer to it: it is the tenant's last.
            if Arc::strong_count(&own) == 2 {
                large.remove(self.tenant.borrow());
            }
            drop(large);
            self.budget.release(&own, true, taken);
        }
        if let Some(own) = self.budget.small_counters.get(self.counter_index)
            && self.small > 0
        {
            self.budget.release(own, false, self.small);
        }
    }
}

impl<B, T> std::fmt::Debug for BudgetReservation<B, T>
where
    B: Deref<Target = BodyBudget>,
    T: Borrow<TenantId>,
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let large = self.large.as_ref().map_or(0, |(_, taken)| *taken);
        f.debug_struct("Reservation")
            .field("bytes", &(self.small + large))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
