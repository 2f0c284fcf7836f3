//! The list of all connections, by address and age.
//!
//! Accessed when a connection begins or ends, and a few times per second by the sweep; never
//! by a request.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::state::{Activity, CloseMode, ConnectionState};
use super::{ConnectionBounds, ConnectionSlot, Peer};

/// How long a connection may take to close gracefully before it is cut.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long responses may go unread when all slots are taken.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct ConnectionTable {
    regular: PeerList,
    spare: PeerList,
    next: u64,
    /// Asked to close immediately, and not yet closed.
    closing: usize,
    /// All are closing, and new ones too.
    is_closing_all: bool,
}

/// Connections in slots of one kind.
#[derive(Default)]
struct PeerList {
    /// By increasing number: the first is the oldest.
    peers: HashMap<Peer, BTreeMap<u64, ConnectionEntry>>,
    count: usize,
}

struct ConnectionEntry {
    state: Arc<ConnectionState>,
    slot: ConnectionSlot,
    /// Activity at the last sweep, and when it last changed.
    last_activity: Activity,
    changed_at: Instant,
    /// Since when none of its responses is read.
    unread_since: Option<Instant>,
    /// When it was asked to close gracefully.
    close_requested_at: Option<Instant>,
}

impl ConnectionTable {
    pub(super) fn insert(
        &mut self,
        peer: Peer,
        slot: ConnectionSlot,
        state: Arc<ConnectionState>,
    ) -> u64 {
        let number = self.next;
        self.next += 1;
        if self.is_closing_all {
            state.close(CloseMode::Gracefully);
        }
        let entry = ConnectionEntry {
            state,
            slot,
            last_activity: Activity::default(),
            changed_at: Instant::now(),
            unread_since: None,
            close_requested_at: None,
        };
        let list = self.list(slot);
        list.peers.entry(peer).or_default().insert(number, entry);
        list.count += 1;
        number
    }

    /// A connection has ended.
    pub(super) fn remove(&mut self, peer: Peer, slot: ConnectionSlot, number: u64) {
        if self.list(slot).take(peer, number).is_none() {
            // It left the list when it was asked to close.
            self.closing -= 1;
        }
    }

    pub(super) fn count(&mut self, slot: ConnectionSlot) -> usize {
        self.list(slot).count
    }

    pub(super) fn count_for_peer(&mut self, peer: Peer, slot: ConnectionSlot) -> usize {
        self.list(slot).peers.get(&peer).map_or(0, BTreeMap::len)
    }

    pub(super) fn closing(&self) -> usize {
        self.closing
    }

    /// Evicts a connection of the address with the most connections; if all of them have
    /// requests with authenticated senders, of the next address. If there is none, evicts one
    /// whose client reads none of its responses.
    pub(super) fn evict(&mut self, slot: ConnectionSlot, now: Instant) -> bool {
        let oldest = |own: &BTreeMap<u64, ConnectionEntry>| own.keys().next().copied();
        let mut sorted: Vec<_> = self
            .list(slot)
            .peers
            .iter()
            .map(|(peer, own)| (Reverse(own.len()), oldest(own), *peer))
            .collect();
        sorted.sort_unstable_by_key(|(count, oldest, _)| (*count, *oldest));
        let peers = || sorted.iter().map(|(_, _, peer)| *peer);
        peers().any(|peer| self.evict_without_request(peer, slot))
            || peers().any(|peer| self.evict_unread(peer, slot, now))
    }

    /// The same among the connections of one address.
    pub(super) fn evict_for_peer(
        &mut self,
        peer: Peer,
        slot: ConnectionSlot,
        now: Instant,
    ) -> bool {
        self.evict_without_request(peer, slot) || self.evict_unread(peer, slot, now)
    }

    /// Evicts the oldest unused connection of an address; else the one idle for longest; else
    /// the oldest one without an authenticated request.
    fn evict_without_request(&mut self, peer: Peer, slot: ConnectionSlot) -> bool {
        let Some(own) = self.list(slot).peers.get(&peer) else {
            return false;
        };
        let unused = own
            .iter()
            .find(|(_, entry)| entry.state.is_unused() && entry.state.close_if_idle());
        let longest_idle = || {
            let idle = own.iter().filter(|(_, entry)| entry.state.is_idle());
            let longest = idle.min_by_key(|(number, entry)| (entry.state.last_end(), **number));
            longest.filter(|(_, entry)| entry.state.close_if_idle())
        };
        // A request may have begun since then.
        let any = || {
            own.iter()
                .find(|(_, entry)| entry.state.close_if_evictable())
        };
        let closed = unused.or_else(longest_idle).or_else(any);
        let closed = closed.map(|(number, _)| *number);
        self.forget_closed(peer, slot, closed)
    }

    /// Evicts the oldest connection of an address whose client reads none of its responses.
    fn evict_unread(&mut self, peer: Peer, slot: ConnectionSlot, now: Instant) -> bool {
        let own = self.list(slot).peers.get(&peer);
        let mut own = own.into_iter().flatten();
        let closed = own.find(|(_, entry)| entry.close_if_unread(UNREAD_TIMEOUT, now));
        let closed = closed.map(|(number, _)| *number);
        self.forget_closed(peer, slot, closed)
    }

    fn forget_closed(&mut self, peer: Peer, slot: ConnectionSlot, closed: Option<u64>) -> bool {
        if let Some(number) = closed {
            self.forget(peer, slot, number);
        }
        closed.is_some()
    }

    pub(super) fn close_all(&mut self) {
        self.is_closing_all = true;
        let now = Instant::now();
        for list in [&mut self.regular, &mut self.spare] {
            for entry in list.peers.values_mut().flat_map(BTreeMap::values_mut) {
                entry.state.close(CloseMode::Gracefully);
                entry.close_requested_at.get_or_insert(now);
            }
        }
    }

    /// Closes connections without a request that are overdue.
    pub(super) fn close_overdue(&mut self, bounds: &ConnectionBounds, now: Instant) {
        let mut closed = Vec::new();
        for list in [&mut self.regular, &mut self.spare] {
            for (peer, own) in &mut list.peers {
                for (number, entry) in own.iter_mut() {
                    if entry.check(bounds, now) {
                        closed.push((*peer, entry.slot, *number));
                    }
                }
            }
        }
        for (peer, slot, number) in closed {
            self.forget(peer, slot, number);
        }
    }

    /// Removes a connection that was asked to close immediately.
    fn forget(&mut self, peer: Peer, slot: ConnectionSlot, number: u64) {
        if self.list(slot).take(peer, number).is_some() {
            self.closing += 1;
        }
    }

    fn list(&mut self, slot: ConnectionSlot) -> &mut PeerList {
        match slot {
            ConnectionSlot::Regular => &mut self.regular,
            ConnectionSlot::Spare => &mut self.spare,
        }
    }
}

impl PeerList {
    fn take(&mut self, peer: Peer, number: u64) -> Option<ConnectionEntry> {
        let own = self.peers.get_mut(&peer)?;
        let entry = own.remove(&number)?;
        if own.is_empty() {
            self.peers.remove(&peer);
        }
        self.count -= 1;
        Some(entry)
    }
}

impl ConnectionEntry {
    /// Closes the connection if it is overdue; returns whether immediately.
    fn check(&mut self, bounds: &ConnectionBounds, now: Instant) -> bool {
        let activity = self.state.activity();
        let stands_still = activity.made_no_progress_since(self.last_activity);
        if activity != self.last_activity {
            self.changed_at = now;
        }
        self.last_activity = activity;
        let unread_since = self.unread_since.filter(|_| stands_still).unwrap_or(now);
        self.unread_since = activity.is_unread().then_some(unread_since);
        if activity.is_unread() {
            return self.close_if_unread(bounds.idle, now);
        }
        activity.is_idle() && self.close_if_overdue(bounds, now)
    }

    /// Closes a connection immediately whose client has not read any response for this long.
    fn close_if_unread(&self, time: Duration, now: Instant) -> bool {
        let since = self.unread_since;
        let long = since.is_some_and(|since| now.saturating_duration_since(since) >= time);
        let activity = self.state.activity();
        let unread = activity.is_unread() && activity.made_no_progress_since(self.last_activity);
        if long && unread {
            self.state.close(CloseMode::Now);
        }
        long && unread
    }

    /// Closes an overdue connection without a request; returns whether immediately.
    fn close_if_overdue(&mut self, bounds: &ConnectionBounds, now: Instant) -> bool {
        let last_end = self.state.last_end();
        let since = last_end.map_or(self.changed_at, |end| end.max(self.changed_at));
        let quiet = now.saturating_duration_since(since);
        let overdue = match self.close_requested_at {
            // The end of a response may still be in transit.
            Some(requested_at) => {
                now.saturating_duration_since(requested_at).min(quiet) >= CLOSE_TIMEOUT
            }
            None => last_end.is_none() && quiet >= bounds.first_request,
        };
        if overdue {
            return self.state.close_if_idle();
        }
        // A spare slot serves one request.
        let over = self.slot == ConnectionSlot::Spare || quiet >= bounds.idle;
        if over && last_end.is_some() && self.close_requested_at.is_none() {
            self.state.close(CloseMode::Gracefully);
            self.close_requested_at = Some(now);
        }
        false
    }
}
