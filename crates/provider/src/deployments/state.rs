//! What is known of one deployment: running calls, how long its responses take to begin, and
//! how long its account's limits are used up. Calls only write counters.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use http::HeaderMap;
use tokio::time::Instant;

use super::minute_limits::MinuteAllowance;
use super::rate_headers::exhausted_for;
use crate::config::MinuteLimits;

/// Weight of the latest response in the average: one part of this many.
const AVERAGE_PARTS: u64 = 8;
/// The longest time for which a deployment is passed over at its provider's request. Then one
/// request finds out.
pub(crate) const MAX_REQUESTED_PAUSE: Duration = Duration::from_secs(3_600);

/// What is known of one deployment.
#[derive(Debug)]
pub(crate) struct DeploymentState {
    pub(crate) weight: u32,
    pub(crate) limits: MinuteLimits,
    pub(crate) allowance: Option<MinuteAllowance>,
    /// Shared with the same deployment of an earlier configuration, whose calls still run.
    running: OnceLock<Arc<AtomicU64>>,
    chosen: AtomicU64,
    latency_micros: AtomicU64,
    started: Instant,
    /// Until when its account's limits are used up, in milliseconds since `started`.
    paused_until: AtomicU64,
}

/// A call of a deployment; it runs until this is dropped.
#[derive(Debug)]
pub(crate) struct RunningCall(Arc<AtomicU64>);

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl DeploymentState {
    pub(crate) fn new(weight: u32, limits: &MinuteLimits) -> Self {
        DeploymentState {
            weight,
            limits: limits.clone(),
            allowance: MinuteAllowance::new(limits),
            running: OnceLock::new(),
            chosen: AtomicU64::new(0),
            latency_micros: AtomicU64::new(0),
            started: Instant::now(),
            paused_until: AtomicU64::new(0),
        }
    }

    pub(crate) fn begin(&self) -> RunningCall {
        let running = self.running_calls();
        running.fetch_add(1, Ordering::Relaxed);
        RunningCall(Arc::clone(running))
    }

    fn running_calls(&self) -> &Arc<AtomicU64> {
        self.running.get_or_init(Arc::default)
    }

    /// Calls that run or wait; a stream runs until it ends.
    pub(crate) fn running(&self) -> u64 {
        self.running_calls().load(Ordering::Relaxed)
    }

    pub(crate) fn count_choice(&self) {
        self.chosen.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it was chosen.
    pub(crate) fn chosen(&self) -> u64 {
        self.chosen.load(Ordering::Relaxed)
    }

    /// The moving average of the time until a response begins; 0 if there was none.
    pub(crate) fn latency_micros(&self) -> u64 {
        self.latency_micros.load(Ordering::Relaxed)
    }

    /// Learns from the beginning of a response what remains of the account's limits.
    pub(crate) fn observe_limits(&self, headers: &HeaderMap) {
        if let Some(pause) = exhausted_for(headers, SystemTime::now()) {
            self.pause(pause.min(MAX_REQUESTED_PAUSE));
        }
    }

    /// Learns how long a response took to begin. Concurrent calls may overwrite each other's part of
    /// the average, which is no loss.
    pub(crate) fn record_latency(&self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        let average = match self.latency_micros() {
            0 => micros,
            before => before - before / AVERAGE_PARTS + micros / AVERAGE_PARTS,
        };
        self.latency_micros.store(average.max(1), Ordering::Relaxed);
    }

    fn pause(&self, pause: Duration) {
        let until = self.started.elapsed() + pause;
        let millis = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        self.paused_until.store(millis, Ordering::Relaxed);
    }

    /// How much longer its account's limits are used up.
    pub(crate) fn paused_for(&self) -> Option<Duration> {
        let until = match self.paused_until.load(Ordering::Relaxed) {
            0 => return None,
            millis => Duration::from_millis(millis),
        };
        let left = until.saturating_sub(self.started.elapsed());
        (!left.is_zero()).then_some(left)
    }

    /// Goes on where the same deployment of an earlier configuration is. Done before the first
    /// call: one that has begun would be counted apart.
    pub(crate) fn take_over(&self, previous: &DeploymentState) {
        let _ = self.running.set(Arc::clone(previous.running_calls()));
        if let (Some(own), Some(before)) = (&self.allowance, &previous.allowance) {
            own.take_over(before);
        }
        self.chosen.store(previous.chosen(), Ordering::Relaxed);
        let latency = previous.latency_micros();
        self.latency_micros.store(latency, Ordering::Relaxed);
        if let Some(pause) = previous.paused_for() {
            self.pause(pause);
        }
    }
}
