//! The bytes that all subscriptions of a connection may hold of incomplete payloads.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Enough for many payloads of the largest size, and far less than a machine has.
const MAX_BYTES: usize = 16 * crate::MAX_PAYLOAD_BYTES;

/// What is held of [`MAX_BYTES`].
#[derive(Debug, Default)]
pub(crate) struct PartsBudget(AtomicUsize);

impl PartsBudget {
    /// Takes bytes, or nothing if they are not there.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let taken = |held: usize| held.checked_add(bytes).filter(|held| *held <= MAX_BYTES);
        let (set, fetch) = (Ordering::AcqRel, Ordering::Acquire);
        self.0.fetch_update(set, fetch, taken).is_ok()
    }

    /// Gives back what was taken.
    pub(super) fn give_back(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::AcqRel);
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}
