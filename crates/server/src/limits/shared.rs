//! What keys use on the other gateways of a cluster.
//!
//! Each gateway reports once a second what its keys have used since it counts, and takes what
//! the others report from its own rates. Reports are sums, so one that is lost is made up for by
//! the next.
//!
//! # The error
//!
//! A gateway learns of the others' requests up to a second later, plus the time that messages
//! take. Until then each admits what it knows to be left. So in the worst second, N gateways with
//! a full rate admit N times the limit instead of once. What was admitted too much is made up
//! for: nothing more is admitted until the rate has come back. So within any T minutes at most
//! (T + N) times the limit per minute is admitted, where one server alone admits (T + 1) times.
//!
//! Money: N gateways can together exceed a budget by what they admit within that second; one
//! server alone can exceed it by one request. What was spent elsewhere counts twice, or not at
//! all, for up to a minute if it was spent within a second of reading the usage rows.
//!
//! A gateway whose messages do not arrive admits requests as if it were alone.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prowess_store::KeyLimits;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::bucket::Bucket;
use super::{IDLE_KEY_AGE, KeyRateLimits, KeyUsage, MAX_TRACKED_KEYS, drop_idle};

/// Keys in one report.
pub(crate) const MAX_KEYS_PER_REPORT: usize = 500;
/// How long after its last request a key is reported: reports may be lost.
const REPORTED_TIME: Duration = Duration::from_secs(5);
/// How long a report counts of what active requests have reserved. Then their gateway is dead.
const RESERVED_TIME: Duration = Duration::from_secs(4);

/// Sums that are no older, and were not reported before, are taken as a whole.
const MAX_NEW_MILLIS: u64 = 10_000;

/// Numbers the counts of keys.
static NEXT_COUNT: AtomicU64 = AtomicU64::new(1);

/// What was used of one key on this server.
#[derive(Debug)]
pub(super) struct OwnUsage {
    /// Names these sums: a key that was forgotten begins with new ones.
    count: u64,
    since: Instant,
    pub(super) requests: f64,
    /// With what active requests have reserved.
    pub(super) tokens: f64,
    pub(super) spent: u64,
    pub(super) requests_per_minute: Option<f64>,
    pub(super) tokens_per_minute: Option<f64>,
}

/// What was used of one key on another gateway, as it last reported.
#[derive(Debug)]
pub(super) struct OtherUsage {
    /// Names the process of the gateway.
    from: String,
    count: u64,
    requests: f64,
    tokens: f64,
    spent: u64,
    reserved: u64,
    holders: u64,
    at: Instant,
}

/// What was used of one key on a gateway, as it reports it to the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeyUsageReport {
    key: String,
    /// Names the sums.
    count: u64,
    /// How long they have been counted.
    age_ms: u64,
    #[serde(default)]
    requests: f64,
    #[serde(default)]
    tokens: f64,
    #[serde(default)]
    spent: u64,
    #[serde(default)]
    reserved: u64,
    #[serde(default)]
    holders: u64,
    #[serde(default)]
    request_rate: Option<RateReport>,
    #[serde(default)]
    token_rate: Option<RateReport>,
}

/// A rate, and what is left of it as far as its gateway knows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct RateReport {
    per_minute: f64,
    left: f64,
}

impl OwnUsage {
    pub(super) fn new(now: Instant) -> OwnUsage {
        OwnUsage {
            count: NEXT_COUNT.fetch_add(1, Ordering::Relaxed),
            since: now,
            requests: 0.0,
            tokens: 0.0,
            spent: 0,
            requests_per_minute: None,
            tokens_per_minute: None,
        }
    }

    /// Notes the rates of the key, which may change.
    pub(super) fn set_rates(&mut self, limits: &KeyLimits) {
        self.requests_per_minute = limits.requests_per_minute.map(f64::from);
        self.tokens_per_minute = limits.tokens_per_minute.map(|rate| rate as f64);
    }

    fn is_nothing(&self) -> bool {
        self.requests == 0.0 && self.tokens == 0.0 && self.spent == 0
    }
}

impl KeyRateLimits {
    /// What keys have used here that had requests lately.
    pub(crate) fn report(&self) -> Vec<KeyUsageReport> {
        let now = Instant::now();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reports = Vec::new();
        for (key, used) in all.iter_mut() {
            let is_recent = now.duration_since(used.last) < REPORTED_TIME;
            if (is_recent && !used.own.is_nothing()) || used.holders > 0 {
                reports.push(used.report(key, now));
            }
        }
        reports
    }

    /// Takes what keys have used on the gateway `from`.
    pub(crate) fn apply(&self, from: &str, reports: &[KeyUsageReport]) {
        let now = Instant::now();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_TRACKED_KEYS {
            drop_idle(&mut all, now);
        }
        for report in reports.iter().take(MAX_KEYS_PER_REPORT) {
            if all.len() >= MAX_TRACKED_KEYS && !all.contains_key(&report.key) {
                continue;
            }
            let full = |rate: Option<RateReport>| rate.map(|rate| rate.per_minute);
            let used = all.entry(report.key.clone()).or_insert_with(|| {
                KeyUsage::new(now, full(report.request_rate), full(report.token_rate))
            });
            used.apply(from, report, now);
        }
    }
}

impl KeyUsage {
    fn report(&mut self, key: &str, now: Instant) -> KeyUsageReport {
        let rate = |bucket: &mut Bucket, per_minute: Option<f64>| {
            let per_minute = per_minute?;
            let left = bucket.level(now, per_minute);
            Some(RateReport { per_minute, left })
        };
        let own = &self.own;
        let age = now.duration_since(own.since).as_millis();
        KeyUsageReport {
            key: key.to_owned(),
            count: own.count,
            age_ms: u64::try_from(age).unwrap_or(u64::MAX),
            requests: own.requests,
            tokens: own.tokens,
            spent: own.spent,
            reserved: self.reserved,
            holders: self.holders,
            request_rate: rate(&mut self.requests, own.requests_per_minute),
            token_rate: rate(&mut self.tokens, own.tokens_per_minute),
        }
    }

    fn apply(&mut self, from: &str, report: &KeyUsageReport, now: Instant) {
        self.others
            .retain(|other| now.duration_since(other.at) < IDLE_KEY_AGE);
        let before = self.others.iter().position(|other| other.from == from);
        let before = before.map(|at| self.others.swap_remove(at));
        let before = before.filter(|before| before.count == report.count);
        let (requests, tokens, spent) = match &before {
            Some(before) => (before.requests, before.tokens, before.spent),
            // All of it was used lately.
            None if report.age_ms <= MAX_NEW_MILLIS => (0.0, 0.0, 0),
            // How much of it was used lately is not known, but what is left.
            None => {
                self.lower_to(report, now);
                (report.requests, report.tokens, report.spent)
            }
        };
        let (requests, tokens) = (report.requests - requests, report.tokens - tokens);
        if let Some(rate) = report.request_rate {
            self.requests.take_at(now, rate.per_minute, requests);
        }
        if let Some(rate) = report.token_rate {
            self.tokens.take_at(now, rate.per_minute, tokens);
        }
        let spent = report.spent.saturating_sub(spent);
        self.others_spent = self.others_spent.saturating_add(spent);
        if requests != 0.0 || tokens != 0.0 || spent > 0 {
            // Not forgotten before its rates are full again.
            self.last = now;
        }
        self.others.push(OtherUsage {
            from: from.to_owned(),
            count: report.count,
            requests: report.requests,
            tokens: report.tokens,
            spent: report.spent,
            reserved: report.reserved,
            holders: report.holders,
            at: now,
        });
    }

    fn lower_to(&mut self, report: &KeyUsageReport, now: Instant) {
        if let Some(rate) = report.request_rate {
            self.requests.lower_to(now, rate.per_minute, rate.left);
        }
        if let Some(rate) = report.token_rate {
            self.tokens.lower_to(now, rate.per_minute, rate.left);
        }
    }

    /// Money that active requests on other gateways have reserved, and how many these are.
    pub(super) fn reserved_by_others(&self, now: Instant) -> (u64, u64) {
        let alive = self.others.iter();
        let alive = alive.filter(|other| now.duration_since(other.at) < RESERVED_TIME);
        alive.fold((0, 0), |(reserved, holders), other| {
            let reserved = other.reserved.saturating_add(reserved);
            (reserved, other.holders.saturating_add(holders))
        })
    }
}

#[cfg(test)]
mod tests;
