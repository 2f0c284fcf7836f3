//! `[audit]`: the audit log.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::values::Days;

const YEAR_SECONDS: u64 = 365 * 24 * 3_600;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Audit")]
pub(super) struct AuditToml {
    /// How long entries of the audit log are stored; 0 for ever.
    #[schemars(extend("x-old-names" = ["keep_days"]))]
    retention: Days,
}

impl Default for AuditToml {
    fn default() -> Self {
        AuditToml {
            retention: Days::from_secs(YEAR_SECONDS),
        }
    }
}

/// How long entries are stored; `None` for ever.
pub(super) fn retention(raw: &AuditToml) -> Option<Duration> {
    raw.retention.unless_zero()
}
