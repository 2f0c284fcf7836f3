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

use super::link::Link;

/// Connections kept per thread: enough for bursts, few enough to be polite.
const MAX_RESTING: usize = 128;
/// Below the minute after which most load balancers close an idle connection.
const MAX_REST: Duration = Duration::from_secs(50);
/// More threads than this share.
const SHARDS: usize = 16;

/// Resting connections, those longest at rest first.
#[derive(Default)]
pub(super) struct Pool {
    shards: [Mutex<Vec<Resting>>; SHARDS],
}

struct Resting {
    link: Box<Link>,
    since: Instant,
}

impl Pool {
    /// A connection that leads there and still works.
    pub(super) fn take(&self, to: &Uri) -> Option<Box<Link>> {
        let mut resting = self.shard()?.lock().unwrap_or_else(PoisonError::into_inner);
        forget_old(&mut resting);
        while let Some(place) = resting.iter().rposition(|one| one.link.leads_to(to)) {
            let mut link = resting.remove(place).link;
            if link.is_ready() {
                return Some(link);
            }
        }
        None
    }

    /// Lets a connection rest.
    pub(super) fn put(&self, link: Box<Link>) {
        let Some(shard) = self.shard() else {
            return;
        };
        let mut resting = shard.lock().unwrap_or_else(PoisonError::into_inner);
        forget_old(&mut resting);
        if resting.len() < MAX_RESTING {
            resting.push(Resting {
                link,
                since: Instant::now(),
            });
        }
    }

    fn shard(&self) -> Option<&Mutex<Vec<Resting>>> {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static THREAD: usize = THREADS.fetch_add(1, Ordering::Relaxed);
        }
        self.shards.get(THREAD.with(|thread| *thread) % SHARDS)
    }
}

fn forget_old(resting: &mut Vec<Resting>) {
    let old = resting
        .iter()
        .take_while(|one| one.since.elapsed() > MAX_REST);
    let old = old.count();
    resting.drain(..old);
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}
