//! Limits of batches.

use std::time::Duration;

use prowess_store::{BatchConcurrency, BatchLimits};

/// The settings for batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchSettings {
    /// Requests of batches of all tenants that may be in progress at once, over all servers.
    pub concurrency: u32,
    /// The same, of one tenant.
    pub tenant_concurrency: u32,
    /// Maximum requests of a batch.
    pub max_requests: u32,
    /// Maximum bytes of the requests of a batch.
    pub max_bytes: u64,
    /// Batches of a tenant that have not ended.
    pub max_open: u32,
    /// Bytes of requests and results of all batches of a tenant.
    pub max_stored_bytes: u64,
    /// How long results are stored, unless the client chooses.
    pub result_lifetime: Duration,
}

impl BatchSettings {
    /// The highest value of [`BatchSettings::max_requests`].
    pub const MAX_REQUESTS: u32 = 100_000;
    /// The longest [`BatchSettings::result_lifetime`].
    pub const MAX_RESULT_LIFETIME: Duration = Duration::from_secs(29 * 24 * 3_600);

    /// How much of batches a tenant may have.
    pub(crate) fn tenant_limits(&self) -> BatchLimits {
        BatchLimits {
            open: self.max_open.into(),
            stored_bytes: self.max_stored_bytes,
        }
    }

    pub(super) fn concurrency_limits(&self) -> BatchConcurrency {
        BatchConcurrency {
            total: self.concurrency,
            tenant: self.tenant_concurrency,
        }
    }
}

impl Default for BatchSettings {
    fn default() -> Self {
        BatchSettings {
            // Half of the kept runs of one server: other runs do not wait for batches.
            concurrency: 32,
            tenant_concurrency: 8,
            max_requests: 10_000,
            max_bytes: 256 << 20,
            max_open: 100,
            max_stored_bytes: 4 << 30,
            result_lifetime: BatchSettings::MAX_RESULT_LIFETIME,
        }
    }
}
