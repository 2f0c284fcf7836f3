//! Sizes and times of tests that `cargo xtask soak` runs for longer.

use std::time::Duration;

/// A number of the environment, or this one.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap())
}

/// Whether this is a soak: everything is as large as it may be.
pub(crate) fn is_soak() -> bool {
    number("PROWESS_SOAK_SECONDS").is_some()
}

/// How long a cluster is disturbed.
pub(crate) fn disturbance() -> Duration {
    Duration::from_secs(number("PROWESS_SOAK_SECONDS").unwrap_or(60))
}

/// How many runs there are meanwhile.
pub(crate) fn runs() -> usize {
    let runs = number("PROWESS_SOAK_RUNS").unwrap_or(300);
    usize::try_from(runs).unwrap()
}

/// What decides who is disturbed, when and how.
pub(crate) fn seed() -> u64 {
    number("PROWESS_SOAK_SEED").unwrap_or(20_261_118)
}
