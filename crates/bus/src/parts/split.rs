//! Splits a payload into parts, without copying it.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::header::{PartHeader, PayloadId};
use crate::inbox;

/// Splits the payloads of one connection.
#[derive(Debug)]
pub(crate) struct Splitter {
    sender: u64,
    next_number: AtomicU64,
}

impl Splitter {
    pub(crate) fn new() -> Self {
        Splitter {
            sender: u64::from_le_bytes(inbox::random()),
            next_number: AtomicU64::new(0),
        }
    }

    /// The parts of a payload that is larger than `part_bytes`, each with its header.
    pub(crate) fn split(
        &self,
        payload: &Bytes,
        part_bytes: usize,
    ) -> impl Iterator<Item = (String, Bytes)> + use<> {
        let id = PayloadId {
            sender: self.sender,
            number: self.next_number.fetch_add(1, Ordering::Relaxed),
        };
        let mut rest = payload.clone();
        let total = rest.len();
        // Sizes were checked, so that the count fits.
        let count = u32::try_from(total.div_ceil(part_bytes.max(1))).unwrap_or(u32::MAX);
        (0..count).map(move |index| {
            let part = rest.split_to(part_bytes.min(rest.len()));
            let header = PartHeader {
                id,
                index,
                count,
                total,
            };
            (header.to_string(), part)
        })
    }
}
