//! Connections that rest until the next call.
//!
//! Each thread has connections of its own. A server that gives every connection of a
//! client to one thread thus has both ends of a conversation on it, and nothing about
//! a request travels between processors.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::Uri;

use super::connection::UpstreamConnection;

/// Connections kept per thread: enough for bursts, few enough to be polite.
const MAX_IDLE_CONNECTIONS: usize = 128;
/// Below the minute after which most load balancers close an idle connection.
const MAX_IDLE_TIME: Duration = Duration::from_secs(50);
/// More threads than this share.
const SHARDS: usize = 16;

/// Resting connections, those longest at rest first.
#[derive(Default)]
pub(super) struct ConnectionPool {
    shards: [Mutex<Vec<IdleConnection>>; SHARDS],
}

struct IdleConnection {
    connection: Box<UpstreamConnection>,
    since: Instant,
}

impl ConnectionPool {
    /// A connection that leads there and still works.
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

    /// Lets a connection rest.
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
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}
