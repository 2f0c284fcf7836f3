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
//! A model without a price costs a budget nothing: its requests are counted as such in the usage,
//! and their responses say so ([`crate::route::gateway`]).
//!
//! Counters are in this process. Spending is seeded from the usage rows, and again every
//! minute, so that it survives a restart and several servers share it approximately. Gateways of
//! a cluster also tell each other what their keys have used ([`shared`] states the error); the
//! rates of other servers with the same store apply to each of them separately.

mod bucket;
mod estimate;
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

use bucket::Bucket;
use reservation::Amount;
use shared::{OtherUsage, OwnUsage};

/// Keys tracked; when exceeded, idle ones are dropped.
const MAX_TRACKED_KEYS: usize = 10_000;
/// After this long without a request every rate is full again.
const IDLE_KEY_AGE: Duration = Duration::from_secs(120);
/// How often spending on other servers is looked up.
const RESEED_INTERVAL: Duration = Duration::from_secs(60);

/// Recent usage of all keys with limits. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyRateLimits(Arc<Mutex<HashMap<String, KeyUsage>>>);

/// Usage of one key.
#[derive(Debug)]
struct KeyUsage {
    requests: Bucket,
    /// Without reserved tokens.
    tokens: Bucket,
    /// Money in billionths since the start of the budget's period.
    spent: u64,
    /// Money reserved by active requests.
    reserved: u64,
    /// Requests with a reservation.
    holders: u64,
    period: Timestamp,
    seeded: Option<Instant>,
    last: Instant,
    /// What was used on this server, for the others of its cluster.
    own: OwnUsage,
    /// What was used on the others; empty without a cluster.
    others: Vec<OtherUsage>,
    /// Money spent on them since the usage rows were read.
    others_spent: u64,
}

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

    /// Releases a reservation and records the usage.
    fn settle(&self, key: &KeyRecord, reserved: Amount, used_up: Amount) {
        self.with_usage(key, |used, _| {
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
                // Rows that are still to be written are counted here already.
                used.spent = used.spent.max(spent);
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

/// Forgets keys whose rates are full again.
fn drop_idle(all: &mut HashMap<String, KeyUsage>, now: Instant) {
    all.retain(|_, used| used.holders > 0 || now.duration_since(used.last) < IDLE_KEY_AGE);
}

impl KeyUsage {
    /// Of a key that has used nothing of its rates.
    fn new(
        now: Instant,
        requests_per_minute: Option<f64>,
        tokens_per_minute: Option<f64>,
    ) -> KeyUsage {
        KeyUsage {
            requests: Bucket::full(now, requests_per_minute),
            tokens: Bucket::full(now, tokens_per_minute),
            spent: 0,
            reserved: 0,
            holders: 0,
            period: Timestamp::EPOCH,
            seeded: None,
            last: now,
            own: OwnUsage::new(now),
            others: Vec::new(),
            others_spent: 0,
        }
    }

    fn take_request(&mut self) {
        self.requests.take(1.0);
        self.own.requests += 1.0;
    }

    fn take_tokens(&mut self, tokens: f64) {
        // What is used without a rate must not overdraw the one that a key gets later.
        if self.own.tokens_per_minute.is_some() {
            self.tokens.take(tokens);
        }
        self.own.tokens += tokens;
    }

    fn reserve(&mut self, amount: Amount) {
        self.take_tokens(amount.tokens as f64);
        self.reserved = self.reserved.saturating_add(amount.nanos);
        self.holders += u64::from(!amount.is_nothing());
    }

    /// Gives back what [`KeyUsage::reserve`] took for a request.
    fn release(&mut self, amount: Amount) {
        self.take_tokens(-(amount.tokens as f64));
        self.reserved = self.reserved.saturating_sub(amount.nanos);
        self.holders = self.holders.saturating_sub(1);
    }

    fn spend(&mut self, nanos: u64) {
        self.spent = self.spent.saturating_add(nanos);
        self.own.spent = self.own.spent.saturating_add(nanos);
    }

    /// Refuses a request that exceeds what is left.
    fn check(
        &mut self,
        key: &KeyRecord,
        amount: Amount,
        now: Instant,
    ) -> Result<(), RequestRefusal> {
        let (others_reserved, others_holders) = self.reserved_by_others(now);
        let is_only = self.holders == 0 && others_holders == 0;
        if let Some(budget) = key.limits.budget {
            let reserved = self.reserved.saturating_add(others_reserved);
            let needed = (!is_only).then(|| reserved.saturating_add(amount.nanos));
            self.check_budget(key, budget, needed)?;
        }
        if let Some(rate) = key.limits.tokens_per_minute {
            // The only active request may exceed what is left, if anything is.
            let least = match is_only {
                true => 1,
                false => amount.tokens.max(1),
            };
            let wait = self.tokens.wait_for(now, rate as f64, least as f64);
            refuse_if_waiting(wait, |wait| RequestRefusal::token_rate(key, rate, wait))?;
        }
        Ok(())
    }

    fn check_requests(&mut self, key: &KeyRecord, now: Instant) -> Result<(), RequestRefusal> {
        let Some(rate) = key.limits.requests_per_minute else {
            return Ok(());
        };
        let wait = self.requests.wait_for(now, f64::from(rate), 1.0);
        refuse_if_waiting(wait, |wait| RequestRefusal::request_rate(key, rate, wait))
    }

    /// `needed` is what all active requests may spend with this one; none if it is the only one.
    fn check_budget(
        &self,
        key: &KeyRecord,
        budget: KeyBudget,
        needed: Option<u64>,
    ) -> Result<(), RequestRefusal> {
        let left = budget.nanos.saturating_sub(self.spent);
        let left = left.saturating_sub(self.others_spent);
        if left == 0 {
            let rest = period::time_left(budget.period, Timestamp::now());
            return Err(RequestRefusal::budget_spent(key, budget, rest));
        }
        if needed.is_some_and(|needed| needed > left) {
            return Err(RequestRefusal::budget_reserved(key, budget));
        }
        Ok(())
    }
}

fn refuse_if_waiting(
    wait: Option<Duration>,
    refusal: impl FnOnce(Duration) -> RequestRefusal,
) -> Result<(), RequestRefusal> {
    match wait {
        None => Ok(()),
        Some(wait) => Err(refusal(wait)),
    }
}

#[cfg(test)]
mod tests;
