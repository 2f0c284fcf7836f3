//! What keys may still spend: requests and tokens per minute, and money.
//!
//! Counted in this process. Money is seeded from the rows of usage, and again every
//! minute, so that it outlives a restart and several servers share it roughly; the
//! rates hold for each server by itself.

mod bucket;
mod period;
mod refusal;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prowess_provider::Route;
use prowess_store::{Budget, KeyRecord, Store, Timestamp};
use tokio::time::Instant;

pub(crate) use refusal::Refusal;

use bucket::Bucket;

/// Keys remembered; beyond that those that rested are forgotten.
const REMEMBERED: usize = 10_000;
/// After this long without a request every rate is whole again.
const RESTED: Duration = Duration::from_secs(120);
/// How often what others spent with the same key is looked up.
const RESEED: Duration = Duration::from_secs(60);

/// What all keys with limits have used lately.
#[derive(Default)]
pub(crate) struct Limits(Mutex<HashMap<String, Used>>);

/// What one key has used.
struct Used {
    requests: Bucket,
    tokens: Bucket,
    /// Money, in billionths, since the beginning of the budget's period.
    spent: u64,
    period: Timestamp,
    seeded: Option<Instant>,
    last: Instant,
}

impl Limits {
    /// Lets a request through, or says why not and when to come again.
    pub(crate) async fn admit(
        &self,
        store: &Store,
        key: &KeyRecord,
        route: &Route,
    ) -> Result<(), Refusal> {
        let limits = &key.limits;
        if let Some(budget) = limits.budget {
            check_prices(key, route)?;
            self.check_budget(store, key, budget).await?;
        }
        if limits.requests_per_minute.is_none() && limits.tokens_per_minute.is_none() {
            return Ok(());
        }
        self.with(key, |used, now| {
            if let Some(rate) = limits.tokens_per_minute {
                let wait = used.tokens.wait_for(now, rate as f64, 1.0);
                refuse(wait, |wait| Refusal::tokens(key, rate, wait))?;
            }
            if let Some(rate) = limits.requests_per_minute {
                let wait = used.requests.wait_for(now, f64::from(rate), 1.0);
                refuse(wait, |wait| Refusal::requests(key, rate, wait))?;
                used.requests.take(1.0);
            }
            Ok(())
        })
    }

    /// The same for a request that calls no model: only its rate counts.
    pub(crate) fn knock(&self, key: &KeyRecord) -> Result<(), Refusal> {
        let Some(rate) = key.limits.requests_per_minute else {
            return Ok(());
        };
        self.with(key, |used, now| {
            let wait = used.requests.wait_for(now, f64::from(rate), 1.0);
            refuse(wait, |wait| Refusal::requests(key, rate, wait))?;
            used.requests.take(1.0);
            Ok(())
        })
    }

    /// Notes what a request has used in the end.
    pub(crate) fn spent(&self, key: &KeyRecord, tokens: u64, nanos: u64) {
        let limits = &key.limits;
        if limits.tokens_per_minute.is_none() && limits.budget.is_none() {
            return;
        }
        self.with(key, |used, _| {
            used.tokens.take(tokens as f64);
            used.spent = used.spent.saturating_add(nanos);
        });
    }

    async fn check_budget(
        &self,
        store: &Store,
        key: &KeyRecord,
        budget: Budget,
    ) -> Result<(), Refusal> {
        let now = Timestamp::now();
        let began = period::began(budget.period, now);
        let stale = self.with(key, |used, now| {
            if used.period != began {
                used.period = began;
                used.spent = 0;
                used.seeded = None;
            }
            used.seeded.is_none_or(|at| now.duration_since(at) > RESEED)
        });
        if stale {
            let seed = store.spent(&key.id, began).await;
            let seed = seed.map_err(|error| Refusal::unknown(&error))?;
            self.with(key, |used, now| {
                // Rows that are still to be written are counted here already.
                used.spent = used.spent.max(seed);
                used.seeded = Some(now);
            });
        }
        let spent = self.with(key, |used, _| used.spent);
        if spent < budget.nanos {
            return Ok(());
        }
        Err(Refusal::budget(
            key,
            budget,
            period::rest(budget.period, now),
        ))
    }

    fn with<T>(&self, key: &KeyRecord, then: impl FnOnce(&mut Used, Instant) -> T) -> T {
        let now = Instant::now();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED && !all.contains_key(&key.id) {
            all.retain(|_, used| now.duration_since(used.last) < RESTED);
        }
        let used = all.entry(key.id.clone()).or_insert_with(|| Used {
            requests: Bucket::full(now, key.limits.requests_per_minute.unwrap_or(0).into()),
            tokens: Bucket::full(now, key.limits.tokens_per_minute.unwrap_or(0) as f64),
            spent: 0,
            period: Timestamp::EPOCH,
            seeded: None,
            last: now,
        });
        used.last = now;
        then(used, now)
    }
}

fn refuse(
    wait: Option<Duration>,
    refusal: impl FnOnce(Duration) -> Refusal,
) -> Result<(), Refusal> {
    match wait {
        None => Ok(()),
        Some(wait) => Err(refusal(wait)),
    }
}

/// A budget means nothing for a model whose price nobody knows.
fn check_prices(key: &KeyRecord, route: &Route) -> Result<(), Refusal> {
    let mut targets = route.targets().iter();
    match targets.find(|target| target.price().is_none()) {
        None => Ok(()),
        Some(target) => Err(Refusal::no_price(key, route.name(), target)),
    }
}
