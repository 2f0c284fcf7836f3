//! `[batches]`: many requests to models that are run within a day.
//!
//! The section is read in every build; `check` needs the feature `server`.

#[cfg(feature = "server")]
pub(super) mod check;

use schemars::JsonSchema;
use serde::Deserialize;

use super::values::{BytesSetting, Days};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Batches")]
pub(super) struct BatchesToml {
    /// Requests of batches of all tenants that are run at once, over all servers.
    concurrency: u32,
    /// Requests of batches of one tenant that are run at once, over all servers.
    tenant_concurrency: u32,
    /// Maximum number of requests of a batch, up to 100000.
    max_requests: u32,
    /// Maximum size of the requests of a batch.
    #[schemars(extend("x-old-names" = ["max_bytes"]))]
    max_size: BytesSetting,
    /// Maximum number of batches of a tenant that have not ended.
    tenant_batches: u32,
    /// Size of requests and results of all batches of a tenant from which on it can create no
    /// further one. Files with results count as files of the tenant.
    #[schemars(extend("x-old-names" = ["tenant_bytes"]))]
    tenant_size: BytesSetting,
    /// How long results are stored after the end of a batch, up to 29 days, unless the client
    /// chooses.
    #[schemars(extend("x-old-names" = ["result_days"]))]
    result_retention: Days,
}

impl Default for BatchesToml {
    fn default() -> Self {
        BatchesToml {
            concurrency: 32,
            tenant_concurrency: 8,
            max_requests: 10_000,
            max_size: BytesSetting::new(256 << 20),
            tenant_batches: 100,
            tenant_size: BytesSetting::new(4 << 30),
            result_retention: Days::from_secs(29 * 24 * 3_600),
        }
    }
}
