//! All open connections: how many there may be, which have to make room, and how long one
//! may be open without a request.
//!
//! | module | owns |
//! |---|---|
//! | `link` | what one connection does, and how it is asked to close |
//! | `table` | the list of all of them, and which is closed first |
//! | `peer` | whose connection it is |
//! | `body` | an answer that says whether its client reads it |
//! | `current` | the request that a task works on |
//! | `takeover` | a connection that no longer speaks HTTP |
//!
//! Whoever connects gets in. When all places are taken, a connection without a request is
//! closed, of the address that has most: one that was never used, or the one that is idle
//! for longest. Requests whose sender is not known keep no connection open. Only when every
//! connection has a request of a known sender under way, a newcomer gets one of a few spare
//! places, where it is answered about the server's health, and else with "try again".

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

/// Places beyond the limit, for answers that say so.
const MAX_SPARE_CONNECTIONS: usize = 64;
/// Connections that were closed to make room, and whose thread has not yet done so.
const MAX_CLOSING_CONNECTIONS: usize = 256;
/// How long a newcomer waits for one of those when there are that many.
const SLOT_TIMEOUT: Duration = Duration::from_secs(1);
/// Bounds of the time between two looks at all connections.
const SWEEP_INTERVALS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(20)..=Duration::from_secs(1);

/// How many connections there may be, and how long without a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionBounds {
    pub(crate) connections: usize,
    /// Of one address.
    pub(crate) per_address: usize,
    /// From the connection to the whole head of its first request.
    pub(crate) first_request: Duration,
    /// Between requests, or with an answer that the client does not read.
    pub(crate) idle: Duration,
}

/// All open connections.
pub(crate) struct Connections {
    bounds: ConnectionBounds,
    table: Mutex<ConnectionTable>,
    /// A connection has ended.
    ended: Notify,
}

/// What a connection may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionSlot {
    Regular,
    /// Only to ask how the server does.
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

    /// A place for a connection that was just accepted. Connections are as old as the
    /// calls of this. Nothing when there is no room even to say that there is none.
    pub(crate) async fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Admission> {
        let peer = Peer::new(address);
        let deadline = Instant::now() + SLOT_TIMEOUT;
        loop {
            let ended = self.ended.notified();
            if let Some(admission) = self.try_admit(peer) {
                return Some(admission);
            }
            tokio::time::timeout_at(deadline, ended).await.ok()?;
        }
    }

    fn try_admit(self: &Arc<Self>, peer: Peer) -> Option<Admission> {
        let mut table = self.lock();
        let slot = self.free_slot(&mut table, peer)?;
        let state = Arc::new(ConnectionState::default());
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
        // An address that has too many makes room by itself, not at others' cost.
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

    /// Closes a connection without a request, when the system has no room for more.
    pub(crate) fn evict_one(&self) -> bool {
        let mut table = self.lock();
        let now = Instant::now();
        table.evict(ConnectionSlot::Regular, now) || table.evict(ConnectionSlot::Spare, now)
    }

    /// Waits for the end of a connection.
    pub(crate) async fn connection_ended(&self) {
        self.ended.notified().await;
    }

    /// Asks all connections to close after the requests that are under way.
    pub(crate) fn close_all(&self) {
        self.lock().close_all();
    }

    /// Closes connections that were without a request for too long, for ever.
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

/// A connection's place, until it is dropped.
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
