//! What one key has used of its limits, and whether a request fits into the rest.

use std::time::Duration;

use prowess_store::{KeyBudget, KeyRecord, Timestamp};
use tokio::time::Instant;

use super::bucket::Bucket;
use super::period;
use super::refusal::RequestRefusal;
use super::reservation::{Amount, SpentSoFar};
use super::shared::{OtherUsage, OwnUsage};

/// Usage of one key.
#[derive(Debug)]
pub(super) struct KeyUsage {
    pub(super) requests: Bucket,
    /// Without reserved tokens.
    pub(super) tokens: Bucket,
    /// Money in billionths since the start of the budget's period.
    pub(super) spent: u64,
    /// Money reserved by active requests.
    pub(super) reserved: u64,
    /// The part of it that they have used so far, as they report it after each turn.
    pub(super) in_progress: u64,
    /// The part of that which is in usage rows, as kept runs store each turn; a turn counts here
    /// from shortly before.
    pub(super) in_rows: u64,
    /// Requests with a reservation.
    pub(super) holders: u64,
    pub(super) period: Timestamp,
    pub(super) seeded: Option<Instant>,
    pub(super) last: Instant,
    /// What was used on this server, for the others of its cluster.
    pub(super) own: OwnUsage,
    /// What was used on the others; empty without a cluster.
    pub(super) others: Vec<OtherUsage>,
    /// Money spent on them since the usage rows were read.
    pub(super) others_spent: u64,
}

impl KeyUsage {
    /// Of a key that has used nothing of its rates.
    pub(super) fn new(
        now: Instant,
        requests_per_minute: Option<f64>,
        tokens_per_minute: Option<f64>,
    ) -> KeyUsage {
        KeyUsage {
            requests: Bucket::full(now, requests_per_minute),
            tokens: Bucket::full(now, tokens_per_minute),
            spent: 0,
            reserved: 0,
            in_progress: 0,
            in_rows: 0,
            holders: 0,
            period: Timestamp::EPOCH,
            seeded: None,
            last: now,
            own: OwnUsage::new(now),
            others: Vec::new(),
            others_spent: 0,
        }
    }

    /// Whether nothing of its rates is used, as far as they are known.
    pub(super) fn has_full_rates(&mut self, now: Instant) -> bool {
        let is_full = |bucket: &mut Bucket, per_minute: Option<f64>| {
            per_minute.is_none_or(|rate| bucket.level(now, rate) >= rate)
        };
        is_full(&mut self.requests, self.own.requests_per_minute)
            && is_full(&mut self.tokens, self.own.tokens_per_minute)
    }

    pub(super) fn take_request(&mut self) {
        self.requests.take(1.0);
        self.own.requests += 1.0;
    }

    pub(super) fn take_tokens(&mut self, tokens: f64) {
        // What is used without a rate must not overdraw the one that a key gets later.
        if self.own.tokens_per_minute.is_some() {
            self.tokens.take(tokens);
        }
        self.own.tokens += tokens;
    }

    pub(super) fn reserve(&mut self, amount: Amount) {
        self.take_tokens(amount.tokens as f64);
        self.reserved = self.reserved.saturating_add(amount.nanos);
        self.holders += u64::from(!amount.is_nothing());
    }

    /// Gives back what [`KeyUsage::reserve`] took for a request.
    pub(super) fn release(&mut self, amount: Amount) {
        self.take_tokens(-(amount.tokens as f64));
        self.reserved = self.reserved.saturating_sub(amount.nanos);
        self.holders = self.holders.saturating_sub(1);
    }

    /// Replaces what an active request had used by what it has used now.
    pub(super) fn replace_progress(&mut self, before: SpentSoFar, after: SpentSoFar) {
        let replace = |sum: &mut u64, before: u64, after: u64| {
            *sum = sum.saturating_sub(before).saturating_add(after);
        };
        replace(&mut self.in_progress, before.nanos, after.nanos);
        replace(&mut self.in_rows, before.in_rows, after.in_rows);
    }

    pub(super) fn spend(&mut self, nanos: u64) {
        self.spent = self.spent.saturating_add(nanos);
        self.own.spent = self.own.spent.saturating_add(nanos);
    }

    /// Refuses a request that exceeds what is left.
    pub(super) fn check(
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

    pub(super) fn check_requests(
        &mut self,
        key: &KeyRecord,
        now: Instant,
    ) -> Result<(), RequestRefusal> {
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
