//! Puts payloads together from their parts, for one subscription.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use super::MIN_PART_BYTES;
use super::budget::PartsBudget;
use super::header::{PartHeader, PayloadId, parse_header};
use crate::MAX_PAYLOAD_BYTES;
use crate::message::BusMessage;
use crate::statistics::BusCounters;

/// A payload is dropped when no part of it has arrived for so long.
pub(super) const INCOMPLETE_FOR: Duration = Duration::from_secs(30);
/// Incomplete payloads of a subscription, and of one sender in it.
const MAX_OPEN: usize = 256;
const MAX_OPEN_PER_SENDER: usize = 64;
/// Bytes of incomplete payloads of a subscription, and of one sender in it.
pub(super) const MAX_BYTES: usize = 4 * MAX_PAYLOAD_BYTES;
const MAX_BYTES_PER_SENDER: usize = 2 * MAX_PAYLOAD_BYTES + MAX_OVERHEAD_BYTES;
/// What a part takes besides its bytes.
const PART_OVERHEAD_BYTES: usize = 128;
const MAX_OVERHEAD_BYTES: usize = 2 * PART_OVERHEAD_BYTES * super::MAX_PARTS as usize;
/// Payloads that were put together, and whose parts may be repeated.
const REMEMBERED_PAYLOADS: usize = 64;

#[derive(Debug)]
pub(crate) struct Assembler {
    open: HashMap<PayloadId, Incomplete>,
    /// Parts that were stored so far.
    stored: u64,
    held: usize,
    completed: VecDeque<PayloadId>,
    budget: Arc<PartsBudget>,
    counters: Arc<BusCounters>,
}

#[derive(Debug)]
struct Incomplete {
    /// Subject and reply of the payload; its bytes are in `parts`.
    message: BusMessage,
    count: u32,
    total: usize,
    parts: BTreeMap<u32, Bytes>,
    received: usize,
    /// What it takes of the budget.
    charged: usize,
    last_part: Instant,
    /// The number of its last part among all that were stored.
    touched: u64,
}

impl Assembler {
    pub(crate) fn new(budget: Arc<PartsBudget>, counters: Arc<BusCounters>) -> Self {
        Assembler {
            open: HashMap::new(),
            stored: 0,
            held: 0,
            completed: VecDeque::new(),
            budget,
            counters,
        }
    }

    /// Takes a part, and returns its payload if it was the last one that was missing.
    pub(crate) fn add(
        &mut self,
        header: &str,
        part: BusMessage,
        now: Instant,
    ) -> Option<BusMessage> {
        self.expire(now);
        let Some(header) = parse_header(header).filter(|_| !part.payload.is_empty()) else {
            self.counters.count_dropped();
            return None;
        };
        if self.completed.contains(&header.id) || self.is_repeated(&header) {
            return None;
        }
        let is_taken = self.make_room(&header, part.payload.len());
        if !(is_taken && self.insert(&header, part, now)) {
            self.remove(header.id);
            self.counters.count_dropped();
            return None;
        }
        self.complete(header.id)
    }

    /// Drops what has been incomplete for too long.
    pub(crate) fn expire(&mut self, now: Instant) {
        let old = self.open.iter();
        let old = old.filter(|(_, open)| open.last_part + INCOMPLETE_FOR <= now);
        let old: Vec<PayloadId> = old.map(|(id, _)| *id).collect();
        for id in old {
            self.remove(id);
            self.counters.count_dropped();
        }
    }

    /// When there will be something to be dropped.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        let oldest = self.open.values().map(|open| open.last_part).min();
        oldest.map(|last_part| last_part + INCOMPLETE_FOR)
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held
    }

    fn is_repeated(&self, header: &PartHeader) -> bool {
        let open = self.open.get(&header.id);
        open.is_some_and(|open| open.parts.contains_key(&header.index))
    }

    /// Takes the room that a part needs, if need be in place of the payload that has waited
    /// longest for a part: who sends fast is not displaced by who only begins. `insert` must
    /// follow.
    fn make_room(&mut self, header: &PartHeader, bytes: usize) -> bool {
        let charge = bytes + PART_OVERHEAD_BYTES;
        let is_new = !self.open.contains_key(&header.id);
        let (open, held) = self.held_by(header.id.sender);
        if (is_new && open >= MAX_OPEN_PER_SENDER) || held + charge > MAX_BYTES_PER_SENDER {
            return false;
        }
        while (is_new && self.open.len() >= MAX_OPEN) || self.held + charge > MAX_BYTES {
            let Some(victim) = self.victim() else {
                return false;
            };
            self.remove(victim);
            self.counters.count_dropped();
            if victim == header.id {
                return false;
            }
        }
        let is_taken = self.budget.take(charge);
        if is_taken {
            self.held += charge;
        }
        is_taken
    }

    /// Number and bytes of incomplete payloads of a sender.
    fn held_by(&self, sender: u64) -> (usize, usize) {
        let of_sender = self.open.iter().filter(|(id, _)| id.sender == sender);
        of_sender.fold((0, 0), |(open, held), (_, one)| {
            (open + 1, held + one.charged)
        })
    }

    /// The payload whose last part is the longest ago.
    fn victim(&self) -> Option<PayloadId> {
        let stalest = self.open.iter().min_by_key(|(_, open)| open.touched);
        stalest.map(|(id, _)| *id)
    }

    /// Stores a part that there is room for; `false` if it contradicts the earlier ones.
    fn insert(&mut self, header: &PartHeader, part: BusMessage, now: Instant) -> bool {
        let (bytes, charge) = (part.payload.len(), part.payload.len() + PART_OVERHEAD_BYTES);
        // A small part would keep the whole buffer that it was read into.
        let data = if bytes < MIN_PART_BYTES {
            Bytes::copy_from_slice(&part.payload)
        } else {
            part.payload.clone()
        };
        let open = self.open.entry(header.id);
        let open = open.or_insert_with(|| Incomplete {
            message: BusMessage {
                payload: Bytes::new(),
                ..part.clone()
            },
            count: header.count,
            total: header.total,
            parts: BTreeMap::new(),
            received: 0,
            charged: 0,
            last_part: now,
            touched: 0,
        });
        self.stored += 1;
        open.touched = self.stored;
        open.charged += charge;
        open.received += bytes;
        open.last_part = now;
        open.parts.insert(header.index, data);
        open.count == header.count
            && open.total == header.total
            && open.received <= open.total
            && open.message.subject == part.subject
            && open.message.reply == part.reply
    }

    /// The payload, if all parts are there.
    fn complete(&mut self, id: PayloadId) -> Option<BusMessage> {
        let open = self.open.get(&id)?;
        if open.parts.len() < usize::try_from(open.count).ok()? {
            return None;
        }
        let open = self.remove(id)?;
        if open.received != open.total {
            self.counters.count_dropped();
            return None;
        }
        if self.completed.len() == REMEMBERED_PAYLOADS {
            self.completed.pop_front();
        }
        self.completed.push_back(id);
        let mut payload = BytesMut::with_capacity(open.total);
        for part in open.parts.values() {
            payload.extend_from_slice(part);
        }
        Some(BusMessage {
            payload: payload.freeze(),
            ..open.message
        })
    }

    fn remove(&mut self, id: PayloadId) -> Option<Incomplete> {
        let removed = self.open.remove(&id)?;
        self.held -= removed.charged;
        self.budget.give_back(removed.charged);
        Some(removed)
    }
}

impl Drop for Assembler {
    fn drop(&mut self) {
        self.budget.give_back(self.held);
    }
}
