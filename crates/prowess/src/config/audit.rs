//! `[audit]`: the audit log.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

pub(super) const KEYS: &[&str] = &["keep_days"];

const DEFAULT_KEEP_DAYS: u64 = 365;
const DAY_SECONDS: u64 = 24 * 3_600;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Audit")]
pub(super) struct AuditToml {
    /// Days that entries of the audit log are stored; default 365, 0 for ever.
    keep_days: Option<u64>,
}

/// How long entries are stored; `None` for ever.
pub(super) fn retention(raw: &AuditToml) -> Option<Duration> {
    match raw.keep_days.unwrap_or(DEFAULT_KEEP_DAYS) {
        0 => None,
        days => Some(Duration::from_secs(days.saturating_mul(DAY_SECONDS))),
    }
}
