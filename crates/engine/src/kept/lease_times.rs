//! How long leases last.

use std::time::Duration;

/// How long a run belongs to its server without renewal. Debug builds read
/// `PROWESS_RUN_LEASE_MS`, so that tests need not wait.
#[must_use]
pub fn lease_time() -> Duration {
    const LEASE: Duration = Duration::from_secs(15);
    if !cfg!(debug_assertions) {
        return LEASE;
    }
    let millis = std::env::var("PROWESS_RUN_LEASE_MS");
    let millis = millis.ok().and_then(|text| text.parse().ok());
    millis.map_or(LEASE, Duration::from_millis)
}

/// How often a lease is renewed.
pub(super) fn renew_interval() -> Duration {
    lease_time() / 3
}

/// An owner that could not renew its lease stops this long before another may claim the run.
pub(super) fn lease_margin() -> Duration {
    lease_time() / 5
}
