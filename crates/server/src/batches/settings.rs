//! Limits of batches.

use prowess_store::BatchLimits;

/// The settings for batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchSettings {
    /// Requests of batches that a tenant may have in progress at once.
    pub concurrency: u32,
    /// Maximum requests of a batch.
    pub max_requests: u32,
    /// Maximum bytes of the requests of a batch.
    pub max_bytes: u64,
    /// Batches of a tenant that have not ended.
    pub max_open: u32,
    /// Bytes of requests and results of all batches of a tenant.
    pub max_stored_bytes: u64,
}

impl BatchSettings {
    /// The highest value of [`BatchSettings::max_requests`].
    pub const MAX_REQUESTS: u32 = 100_000;

    /// How much of batches a tenant may have.
    pub(crate) fn tenant_limits(&self) -> BatchLimits {
        BatchLimits {
            open: self.max_open.into(),
            stored_bytes: self.max_stored_bytes,
        }
    }
}

impl Default for BatchSettings {
    fn default() -> Self {
        BatchSettings {
            concurrency: 4,
            max_requests: 10_000,
            max_bytes: 256 << 20,
            max_open: 100,
            max_stored_bytes: 4 << 30,
        }
    }
}
