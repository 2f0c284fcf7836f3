//! The threads that attend connections, each with a runtime of its own.
//!
//! A connection stays on one thread from its first byte to its last, and so do the
//! calls made for it. Were tasks free to move, every request would wake a second
//! thread, more than once, to look for work that is done by then: that took more time
//! than the request itself. Work that keeps a processor busy does not belong here; it
//! is handed to `spawn_blocking`.

use std::io;
use std::net::TcpStream as StdStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::connections::Admission;
use crate::door::Door;

/// Timers that are set have to wake a sleeping clock if they are the next to be due.
/// With this one always due soon, the many timeouts of requests never are.
const TICK: Duration = Duration::from_millis(500);

/// Threads for work that would keep a hand busy. Each holds on to a megabyte or two of
/// memory, and more of them than this wait for the same disk.
const HELPERS: usize = 16;

/// All threads.
pub(crate) struct Crew(Vec<Hand>);

/// One of the threads.
struct Hand {
    guests: mpsc::UnboundedSender<Guest>,
    /// Connections it attends.
    busy: Arc<AtomicUsize>,
    /// Told at its end: connections that did not finish in time.
    ended: oneshot::Receiver<usize>,
}

/// A connection to be attended. There are never more of them than were admitted.
struct Guest {
    stream: StdStream,
    admission: Admission,
}

impl Crew {
    /// Starts as many threads as there are processors.
    pub(crate) fn start(door: &Door, grace: Duration) -> io::Result<Crew> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let hands = (0..processors).map(|_| Hand::start(door.clone(), grace));
        hands.collect::<io::Result<_>>().map(Crew)
    }

    /// Gives a connection to the thread that has the fewest.
    pub(crate) fn attend(&self, stream: TcpStream, admission: Admission) {
        let hand = self
            .0
            .iter()
            .min_by_key(|hand| hand.busy.load(Ordering::Relaxed));
        let Some((hand, stream)) = hand.zip(stream.into_std().ok()) else {
            return;
        };
        hand.busy.fetch_add(1, Ordering::Relaxed);
        // It only ends after this crew was told to finish.
        let _ = hand.guests.send(Guest { stream, admission });
    }

    /// Lets every request that is under way finish, and after a while ends the rest.
    pub(crate) async fn finish(self) {
        let mut cut = 0;
        let ends: Vec<_> = self.0.into_iter().map(|hand| hand.ended).collect();
        for ended in ends {
            cut += ended.await.unwrap_or_default();
        }
        if cut > 0 {
            tracing::warn!(
                open = cut,
                "requests did not finish in time; they were ended"
            );
        }
    }
}

impl Hand {
    fn start(door: Door, grace: Duration) -> io::Result<Hand> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(HELPERS)
            .build()?;
        let (guests, arriving) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let busy = Arc::default();
        let counted = Arc::clone(&busy);
        std::thread::Builder::new()
            .name("prowess-hand".to_owned())
            .spawn(move || {
                let cut = runtime.block_on(work(door, arriving, counted, grace));
                // Nobody waits any more if the server was dropped.
                let _ = end.send(cut);
            })?;
        Ok(Hand {
            guests,
            busy,
            ended,
        })
    }
}

/// Attends all who come, until no more can come; says how many had to be sent away.
async fn work(
    door: Door,
    mut arriving: mpsc::UnboundedReceiver<Guest>,
    busy: Arc<AtomicUsize>,
    grace: Duration,
) -> usize {
    let mut open = JoinSet::new();
    let mut tick = tokio::time::interval(TICK);
    loop {
        let arrived = tokio::select! {
            arrived = arriving.recv() => arrived,
            _ = tick.tick() => continue,
            Some(_) = open.join_next() => {
                busy.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
        };
        let Some(Guest { stream, admission }) = arrived else {
            break;
        };
        match TcpStream::from_std(stream) {
            Ok(stream) => {
                open.spawn(door.attend(stream, admission));
            }
            Err(error) => {
                busy.fetch_sub(1, Ordering::Relaxed);
                tracing::warn!(%error, "cannot attend a connection");
            }
        }
    }
    // All connections were asked to close.
    let ends = async { while open.join_next().await.is_some() {} };
    // Whether or not they did in time, none of them is waited for any longer.
    let _ = tokio::time::timeout(grace, ends).await;
    let cut = open.len();
    open.shutdown().await;
    cut
}
