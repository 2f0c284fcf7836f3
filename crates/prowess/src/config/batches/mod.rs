//! `[batches]`: many requests to models that are run within a day.
//!
//! The section is read in every build; `check` needs the feature `server`.

#[cfg(feature = "server")]
pub(super) mod check;

use schemars::JsonSchema;
use serde::Deserialize;

pub(super) const KEYS: &[&str] = &[
    "concurrency",
    "tenant_concurrency",
    "max_requests",
    "max_bytes",
    "tenant_batches",
    "tenant_bytes",
    "result_days",
];

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Batches")]
pub(super) struct BatchesToml {
    /// Requests of batches of all tenants that are run at once, over all servers; default 32.
    concurrency: Option<u32>,
    /// Requests of batches of one tenant that are run at once, over all servers; default 8.
    tenant_concurrency: Option<u32>,
    /// Maximum number of requests of a batch, up to 100000; default 10000.
    max_requests: Option<u32>,
    /// Maximum bytes of the requests of a batch; default 256 MiB.
    max_bytes: Option<u64>,
    /// Maximum number of batches of a tenant that have not ended; default 100.
    tenant_batches: Option<u32>,
    /// Bytes of requests and results of all batches of a tenant from which on it can create no
    /// further one; default 4 GiB. Files with results count as files of the tenant.
    tenant_bytes: Option<u64>,
    /// Days for which results are stored after the end of a batch, 1 to 29, unless the client
    /// chooses; default 29.
    result_days: Option<u64>,
}
