//! What the bus has counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the bus was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BusStatistics {
    /// Messages that were published.
    pub published: u64,
    /// Messages that subscriptions of this bus have delivered.
    pub received: u64,
    /// Messages that arrived and were dropped: a subscription was full, or parts were missing.
    pub dropped: u64,
    /// Times that a lost connection was made again.
    pub reconnects: u64,
}

/// The counts of all that shares a bus.
#[derive(Debug, Default)]
pub(crate) struct BusCounters {
    published: AtomicU64,
    received: AtomicU64,
    dropped: AtomicU64,
}

impl BusCounters {
    pub(crate) fn count_published(&self) {
        self.published.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_received(&self) {
        self.received.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, reconnects: u64) -> BusStatistics {
        BusStatistics {
            published: self.published.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            reconnects,
        }
    }
}
