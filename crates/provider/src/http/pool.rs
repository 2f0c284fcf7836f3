//! Idle connections, kept for the next call.
//!
//! Each thread has its own connections. A server that handles all connections of a client
//! on one thread thus has both ends of an exchange there, and a request never moves
//! between processors.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::Uri;

use super::connection::UpstreamConnection;

/// Idle connections per thread: enough for bursts, few enough for the upstream.
const MAX_IDLE_CONNECTIONS: usize = 128;
/// Less than the minute after which most load balancers close an idle connection.
const MAX_IDLE_TIME: Duration = Duration::from_secs(50);
/// More threads than this share a shard.
const SHARDS: usize = 16;

/// Idle connections, the longest idle first.
#[derive(Default)]
pub(super) struct ConnectionPool {
    shards: [Mutex<Vec<IdleConnection>>; SHARDS],
}

struct IdleConnection {
    connection: Box<UpstreamConnection>,
    since: Instant,
}

impl ConnectionPool {
    /// A working connection to the host of this URI.
    pub(super) fn take(&self, to: &Uri) -> Option<Box<UpstreamConnection>> {
        let mut idle = self.shard()?.lock().unwrap_or_else(PoisonError::into_inner);
        remove_expired(&mut idle);
        while let Some(place) = idle.iter().rposition(|one| one.connection.connects_to(to)) {
            let mut connection = idle.remove(place).connection;
            if connection.is_ready() {
                return Some(connection);
            }
        }
        None
    }

    /// Returns a connection to the pool.
    pub(super) fn put(&self, connection: Box<UpstreamConnection>) {
        let Some(shard) = self.shard() else {
            return;
        };
        let mut idle = shard.lock().unwrap_or_else(PoisonError::into_inner);
        remove_expired(&mut idle);
        if idle.len() < MAX_IDLE_CONNECTIONS {
            idle.push(IdleConnection {
                connection,
                since: Instant::now(),
            });
        }
    }

    fn shard(&self) -> Option<&Mutex<Vec<IdleConnection>>> {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static THREAD: usize = THREADS.fetch_add(1, Ordering::Relaxed);
        }
        self.shards.get(THREAD.with(|thread| *thread) % SHARDS)
    }
}

fn remove_expired(idle: &mut Vec<IdleConnection>) {
    let old = idle
        .iter()
        .take_while(|one| one.since.elapsed() > MAX_IDLE_TIME);
    let old = old.count();
    idle.drain(..old);
}

impl fmt::Debug for ConnectionPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionPool").finish_non_exhaustive()
    }
}
