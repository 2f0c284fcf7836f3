//! Rate limits and budgets of keys: requests and tokens per minute, and money.
//!
//! What a request uses is known at its end, while others are active. So each request reserves
//! an [`Estimate`] when it is admitted, which is exchanged for the actual usage at its end
//! ([`SpendReservation`]). A request whose estimate exceeds the remainder is refused, unless
//! nothing else is reserved and anything is left: otherwise a request with an output limit
//! above the key's limit could never be sent. So at most one request at a time may exceed what
//! its key has left.
//!
//! A request that waits in the queue of kept runs reserves nothing. It is admitted again when a
//! server claims it ([`crate::kept_runs`]): then it reserves, waits longer, or fails. One that has
//! finished steps is continued and reserves in any case.
//!
//! A run is asked after each turn whether anything is left of the budget, and pauses if not
//! ([`SpendReservation::leaves_budget`]): what active requests have used so far counts for that, and
//! not what they have reserved.
//!
//! A model without a price costs a budget nothing: its requests are counted as such in the usage,
//! and their responses say so ([`crate::route::gateway`]).
//!
//! Counters are in this process. Spending is seeded from the usage rows, and again every
//! minute, so that it survives a restart and several servers share it approximately. Gateways of
//! a cluster also tell each other what their keys have used ([`shared`] states the error); the
//! rates of other servers with the same store apply to each of them separately.

mod bucket;
mod estimate;
mod key_usage;
mod period;
mod refusal;
mod reservation;
pub(crate) mod shared;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prowess_provider::Route;
use prowess_store::{KeyBudget, KeyRecord, Store, Timestamp};
use tokio::time::Instant;

pub(crate) use estimate::Estimate;
pub(crate) use refusal::RequestRefusal;
pub(crate) use reservation::SpendReservation;

use key_usage::KeyUsage;
use reservation::{Amount, SpentSoFar};

/// Keys tracked; when exceeded, idle ones are dropped.
const MAX_TRACKED_KEYS: usize = 10_000;
/// How long without a request a key is remembered in any case.
const IDLE_KEY_AGE: Duration = Duration::from_secs(120);
/// How often spending on other servers is looked up.
const RESEED_INTERVAL: Duration = Duration::from_secs(60);

/// Recent usage of all keys with limits. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyRateLimits(Arc<Mutex<HashMap<String, KeyUsage>>>);

impl KeyRateLimits {
    /// Admits a request, or says why not and when to retry. The estimate is reserved until the
    /// reservation is settled; without an estimate nothing is reserved. The request itself is
    /// counted before, by [`KeyRateLimits::count_request`].
    pub(crate) async fn admit(
        &self,
        store: &Store,
        key: &Arc<KeyRecord>,
        route: &Route,
        estimate: Option<Estimate>,
    ) -> Result<Option<SpendReservation>, RequestRefusal> {
        if !has_amounts(key) {
            return Ok(None);
        }
        if let Some(budget) = key.limits.budget {
            self.seed_spending(store, key, budget).await?;
        }
        let (amount, input) = to_amounts(key, route, estimate);
        self.reserve(key, amount, input)
    }

    /// Admits a request again that was just admitted, because more of it is known: `before` is
    /// exchanged for what is estimated now. If it is refused, nothing is reserved for it any
    /// more.
    pub(crate) fn admit_again(
        &self,
        key: &Arc<KeyRecord>,
        route: &Route,
        estimate: Option<Estimate>,
        before: Option<SpendReservation>,
    ) -> Result<Option<SpendReservation>, RequestRefusal> {
        if !has_amounts(key) {
            return Ok(None);
        }
        let (amount, input) = to_amounts(key, route, estimate);
        let before = before.and_then(|before| before.take());
        self.exchange(key, before, amount, input)
    }

    /// Reserves an estimate whatever is left, for what goes on in any case. What was spent on it
    /// before is read from its rows, and is not to be settled again.
    pub(crate) async fn reserve_always(
        &self,
        store: &Store,
        key: &Arc<KeyRecord>,
        route: &Route,
        estimate: Option<Estimate>,
    ) -> Option<SpendReservation> {
        if !has_amounts(key) {
            return None;
        }
        if let Some(budget) = key.limits.budget {
            // What servers before have spent on it is in rows that this one may not have read.
            self.with_usage(key, |used, _| used.seeded = None);
            // If it fails, the next request reads it.
            let _ = self.seed_spending(store, key, budget).await;
        }
        let (amount, input) = to_amounts(key, route, estimate);
        self.with_usage(key, |used, _| used.reserve(amount));
        self.reservation(key, amount, input)
    }

    /// Admits a request that names no model, of which nothing can be estimated: what is left must
    /// not be used up.
    pub(crate) async fn admit_without_model(
        &self,
        store: &Store,
        key: &Arc<KeyRecord>,
    ) -> Result<(), RequestRefusal> {
        if let Some(budget) = key.limits.budget {
            self.seed_spending(store, key, budget).await?;
        }
        let nothing = Amount::default();
        self.reserve(key, nothing, nothing).map(drop)
    }

    /// Reserves an amount if enough is left.
    fn reserve(
        &self,
        key: &Arc<KeyRecord>,
        amount: Amount,
        input: Amount,
    ) -> Result<Option<SpendReservation>, RequestRefusal> {
        self.exchange(key, None, amount, input)
    }

    /// Releases an amount that a request has reserved, and reserves another if enough is left.
    /// In between, no other request is admitted.
    fn exchange(
        &self,
        key: &Arc<KeyRecord>,
        before: Option<Amount>,
        amount: Amount,
        input: Amount,
    ) -> Result<Option<SpendReservation>, RequestRefusal> {
        self.with_usage(key, |used, now| {
            if let Some(before) = before {
                used.release(before);
            }
            used.check(key, amount, now)?;
            used.reserve(amount);
            Ok(())
        })?;
        Ok(self.reservation(key, amount, input))
    }

    /// The reservation of an amount; none of nothing.
    fn reservation(
        &self,
        key: &Arc<KeyRecord>,
        amount: Amount,
        input: Amount,
    ) -> Option<SpendReservation> {
        let reservation = || SpendReservation::new(self.clone(), Arc::clone(key), amount, input);
        (!amount.is_nothing()).then(reservation)
    }

    /// Counts a request toward its rate limit, or refuses it. A call to a model is counted
    /// before anything it names is looked up: otherwise an invalid request would cost nothing.
    pub(crate) fn count_request(&self, key: &KeyRecord) -> Result<(), RequestRefusal> {
        if key.limits.requests_per_minute.is_none() {
            return Ok(());
        }
        self.with_usage(key, |used, now| {
            used.check_requests(key, now)?;
            used.take_request();
            Ok(())
        })
    }

    /// Releases a reservation and records the usage, in place of its progress: in between, nobody
    /// reads rows that have it.
    fn settle(&self, key: &KeyRecord, reserved: Amount, progress: SpentSoFar, used_up: Amount) {
        self.with_usage(key, |used, _| {
            used.replace_progress(progress, SpentSoFar::default());
            used.release(reserved);
            used.take_tokens(used_up.tokens as f64);
            used.spend(used_up.nanos);
        });
    }

    /// Replaces a reservation by another amount.
    fn adjust_reservation(&self, key: &KeyRecord, before: Amount, after: Amount) {
        self.with_usage(key, |used, _| {
            used.take_tokens(after.tokens as f64 - before.tokens as f64);
            used.reserved = used.reserved.saturating_sub(before.nanos);
            used.reserved = used.reserved.saturating_add(after.nanos);
        });
    }

    /// Replaces what an active request had used by what it has used now.
    fn note_progress(&self, key: &KeyRecord, before: SpentSoFar, after: SpentSoFar) {
        if before != after {
            self.with_usage(key, |used, _| used.replace_progress(before, after));
        }
    }

    /// Whether anything is left of a key's budget when its active requests have used so much more
    /// than they have reported.
    fn has_budget_left(&self, key: &KeyRecord, more: u64) -> bool {
        let Some(budget) = key.limits.budget else {
            return true;
        };
        let period_start = period::period_start(budget.period, Timestamp::now());
        self.with_usage(key, |used, _| {
            let settled = match used.period == period_start {
                true => used.spent.saturating_add(used.others_spent),
                // A new period has begun, for which nothing is settled yet.
                false => 0,
            };
            let all = settled.saturating_add(used.in_progress);
            all.saturating_add(more) < budget.nanos
        })
    }

    /// Loads the spending of the budget's period, if it is unknown or stale.
    async fn seed_spending(
        &self,
        store: &Store,
        key: &KeyRecord,
        budget: KeyBudget,
    ) -> Result<(), RequestRefusal> {
        let period_start = period::period_start(budget.period, Timestamp::now());
        let stale = self.with_usage(key, |used, now| {
            if used.period != period_start {
                used.period = period_start;
                used.spent = 0;
                used.others_spent = 0;
                used.seeded = None;
            }
            used.seeded
                .is_none_or(|at| now.duration_since(at) > RESEED_INTERVAL)
        });
        if stale {
            // Boxed: few requests read the store, and all would carry its future.
            let spent = Box::pin(store.spent_nanos(&key.id, period_start)).await;
            let spent = spent.map_err(|error| RequestRefusal::spending_unknown(&error))?;
            self.with_usage(key, |used, now| {
                // Rows that are still to be written are counted here already. Those of kept runs
                // that go on are counted when these end.
                used.spent = used.spent.max(spent.saturating_sub(used.in_rows));
                // The rows have what others spent.
                used.others_spent = 0;
                used.seeded = Some(now);
            });
        }
        Ok(())
    }

    fn with_usage<T>(&self, key: &KeyRecord, then: impl FnOnce(&mut KeyUsage, Instant) -> T) -> T {
        let now = Instant::now();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_TRACKED_KEYS && !all.contains_key(&key.id) {
            drop_idle(&mut all, now);
        }
        let limits = &key.limits;
        let used = all.entry(key.id.clone()).or_insert_with(|| {
            let requests = limits.requests_per_minute.map(f64::from);
            KeyUsage::new(
                now,
                requests,
                limits.tokens_per_minute.map(|rate| rate as f64),
            )
        });
        used.last = now;
        used.own.set_rates(limits);
        then(used, now)
    }
}

/// Whether a key has limits of which requests reserve amounts.
fn has_amounts(key: &KeyRecord) -> bool {
    key.limits.budget.is_some() || key.limits.tokens_per_minute.is_some()
}

/// What a request may use of its key's limits, and what its input alone uses.
fn to_amounts(key: &KeyRecord, route: &Route, estimate: Option<Estimate>) -> (Amount, Amount) {
    let limits = &key.limits;
    let to_amount = |estimate: Estimate| Amount {
        // More than the limit is never available.
        tokens: limits
            .tokens_per_minute
            .map_or(0, |rate| estimate.tokens().min(rate)),
        nanos: limits.budget.map_or(0, |_| estimate.nanos(route)),
    };
    let input = estimate.map(|estimate| to_amount(estimate.input_only()));
    let amount = estimate.map(to_amount);
    (amount.unwrap_or_default(), input.unwrap_or_default())
}

/// Forgets keys whose rates are full again: of one that has overdrawn them this may take a day.
fn drop_idle(all: &mut HashMap<String, KeyUsage>, now: Instant) {
    all.retain(|_, used| {
        let is_idle = now.duration_since(used.last) >= IDLE_KEY_AGE;
        used.holders > 0 || !is_idle || !used.has_full_rates(now)
    });
}

#[cfg(test)]
mod tests;
