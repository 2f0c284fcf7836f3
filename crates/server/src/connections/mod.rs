//! All open connections: their limits, eviction, and timeouts without a request.
//!
//! | module | owns |
//! |---|---|
//! | `state` | the state of one connection, and requests to close it |
//! | `table` | the list of all connections, and the order of eviction |
//! | `peer` | the address that a connection counts for |
//! | `body` | response body that tracks whether the client reads it |
//! | `current` | the request of the current task |
//! | `takeover` | a connection upgraded from HTTP |
//!
//! New connections are always accepted. When all slots are taken, a connection without a
//! request is evicted, from the address with the most connections: an unused one, or the one
//! idle for longest. Requests with an unauthenticated sender do not protect a connection. Only
//! when every connection has a request with an authenticated sender, a new connection gets one
//! of a few spare slots, in which health checks are answered and everything else gets a 503.

mod body;
pub(crate) mod current;
mod peer;
mod state;
mod table;
mod takeover;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

pub(crate) use body::TrackedBody;
use peer::Peer;
pub(crate) use state::{ActiveRequest, CloseMode, ConnectionState};
use table::ConnectionTable;
pub(crate) use takeover::Takeover;

/// Slots beyond the limit, for 503 responses.
const MAX_SPARE_CONNECTIONS: usize = 64;
/// Evicted connections whose thread has not closed them yet.
const MAX_CLOSING_CONNECTIONS: usize = 256;
/// How long a new connection waits for one of those when there are that many.
const SLOT_TIMEOUT: Duration = Duration::from_secs(1);
/// Bounds of the interval between two sweeps.
const SWEEP_INTERVALS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(20)..=Duration::from_secs(1);

/// Limits on connections, and timeouts without a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionBounds {
    pub(crate) connections: usize,
    /// Of one address.
    pub(crate) per_address: usize,
    /// From accepting to the complete head of the first request.
    pub(crate) first_request: Duration,
    /// Between requests, or with a response that the client does not read.
    pub(crate) idle: Duration,
}

/// All open connections.
pub(crate) struct Connections {
    bounds: ConnectionBounds,
    table: Mutex<ConnectionTable>,
    /// Notifies when a connection has ended.
    ended: Notify,
}

/// What a connection may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionSlot {
    Regular,
    /// Health checks only.
    Spare,
}

impl Connections {
    pub(crate) fn new(bounds: ConnectionBounds) -> Arc<Connections> {
        Arc::new(Connections {
            bounds,
            table: Mutex::default(),
            ended: Notify::new(),
        })
    }

    /// A slot for a connection that was just accepted. Connections age in the order of calls.
    /// None when even the spare slots are taken.
    pub(crate) async fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Admission> {
        let peer = Peer::new(address);
        let deadline = Instant::now() + SLOT_TIMEOUT;
        loop {
            let ended = self.ended.notified();
            if let Some(admission) = self.try_admit(peer, address) {
                return Some(admission);
            }
            tokio::time::timeout_at(deadline, ended).await.ok()?;
        }
    }

    fn try_admit(self: &Arc<Self>, peer: Peer, address: IpAddr) -> Option<Admission> {
        let mut table = self.lock();
        let slot = self.free_slot(&mut table, peer)?;
        let state = Arc::new(ConnectionState::from_address(address));
        let number = table.insert(peer, slot, Arc::clone(&state));
        drop(table);
        Some(Admission {
            state,
            slot,
            peer,
            number,
            connections: Arc::clone(self),
        })
    }

    fn free_slot(&self, table: &mut ConnectionTable, peer: Peer) -> Option<ConnectionSlot> {
        if table.closing() >= MAX_CLOSING_CONNECTIONS {
            return None;
        }
        let now = Instant::now();
        let below_own = table.count_for_peer(peer, ConnectionSlot::Regular)
            < self.bounds.per_address
            || table.evict_for_peer(peer, ConnectionSlot::Regular, now);
        // An address over its limit evicts its own connections, not those of others.
        if below_own
            && (table.count(ConnectionSlot::Regular) < self.bounds.connections
                || table.evict(ConnectionSlot::Regular, now))
        {
            return Some(ConnectionSlot::Regular);
        }
        let spare = table.count(ConnectionSlot::Spare) < MAX_SPARE_CONNECTIONS
            || table.evict(ConnectionSlot::Spare, now);
        spare.then_some(ConnectionSlot::Spare)
    }

    /// Evicts a connection without a request, when the system has no file descriptors left.
    pub(crate) fn evict_one(&self) -> bool {
        let mut table = self.lock();
        let now = Instant::now();
        table.evict(ConnectionSlot::Regular, now) || table.evict(ConnectionSlot::Spare, now)
    }

    /// Waits for the end of a connection.
    pub(crate) async fn connection_ended(&self) {
        self.ended.notified().await;
    }

    /// Asks all connections to close after their active requests.
    pub(crate) fn close_all(&self) {
        self.lock().close_all();
    }

    /// Closes overdue connections, forever.
    pub(crate) async fn sweep(self: Arc<Self>) {
        let shortest = self.bounds.first_request.min(self.bounds.idle) / 4;
        let mut ticks =
            tokio::time::interval(shortest.clamp(*SWEEP_INTERVALS.start(), *SWEEP_INTERVALS.end()));
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let now = ticks.tick().await;
            self.lock().close_overdue(&self.bounds, now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's slot; released on drop.
pub(crate) struct Admission {
    state: Arc<ConnectionState>,
    slot: ConnectionSlot,
    peer: Peer,
    number: u64,
    connections: Arc<Connections>,
}

impl Admission {
    pub(crate) fn state(&self) -> &Arc<ConnectionState> {
        &self.state
    }

    pub(crate) fn slot(&self) -> ConnectionSlot {
        self.slot
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let mut table = self.connections.lock();
        table.remove(self.peer, self.slot, self.number);
        drop(table);
        self.connections.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
