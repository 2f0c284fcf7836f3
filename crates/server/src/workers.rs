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

use crate::connection_server::ConnectionServer;
use crate::connections::Admission;

/// Timers that are set have to wake a sleeping clock if they are the next to be due.
/// With this one always due soon, the many timeouts of requests never are.
const TICK_INTERVAL: Duration = Duration::from_millis(500);

/// Threads for work that would keep a hand busy. Each holds on to a megabyte or two of
/// memory, and more of them than this wait for the same disk.
const MAX_BLOCKING_THREADS: usize = 16;

/// All threads.
pub(crate) struct WorkerPool(Vec<Worker>);

/// One of the threads.
struct Worker {
    connections: mpsc::UnboundedSender<AcceptedConnection>,
    /// Connections it attends.
    connection_count: Arc<AtomicUsize>,
    /// Told at its end: connections that did not finish in time.
    ended: oneshot::Receiver<usize>,
}

/// A connection to be attended. There are never more of them than were admitted.
struct AcceptedConnection {
    stream: StdStream,
    admission: Admission,
}

impl WorkerPool {
    /// Starts as many threads as there are processors.
    pub(crate) fn start(server: &ConnectionServer, grace: Duration) -> io::Result<WorkerPool> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = (0..processors).map(|_| Worker::start(server.clone(), grace));
        workers.collect::<io::Result<_>>().map(WorkerPool)
    }

    /// Gives a connection to the thread that has the fewest.
    pub(crate) fn dispatch(&self, stream: TcpStream, admission: Admission) {
        let worker = self
            .0
            .iter()
            .min_by_key(|worker| worker.connection_count.load(Ordering::Relaxed));
        let Some((worker, stream)) = worker.zip(stream.into_std().ok()) else {
            return;
        };
        worker.connection_count.fetch_add(1, Ordering::Relaxed);
        // It only ends after this crew was told to finish.
        let _ = worker
            .connections
            .send(AcceptedConnection { stream, admission });
    }

    /// Lets every request that is under way finish, and after a while ends the rest.
    pub(crate) async fn finish(self) {
        let mut cut = 0;
        let ends: Vec<_> = self.0.into_iter().map(|worker| worker.ended).collect();
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

impl Worker {
    fn start(server: ConnectionServer, grace: Duration) -> io::Result<Worker> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(MAX_BLOCKING_THREADS)
            .build()?;
        let (connections, incoming) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let connection_count = Arc::default();
        let counted = Arc::clone(&connection_count);
        std::thread::Builder::new()
            .name("prowess-hand".to_owned())
            .spawn(move || {
                let cut = runtime.block_on(run_worker(server, incoming, counted, grace));
                // Nobody waits any more if the server was dropped.
                let _ = end.send(cut);
            })?;
        Ok(Worker {
            connections,
            connection_count,
            ended,
        })
    }
}

/// Attends all who come, until no more can come; says how many had to be sent away.
async fn run_worker(
    server: ConnectionServer,
    mut incoming: mpsc::UnboundedReceiver<AcceptedConnection>,
    connection_count: Arc<AtomicUsize>,
    grace: Duration,
) -> usize {
    let mut open = JoinSet::new();
    let mut tick = tokio::time::interval(TICK_INTERVAL);
    loop {
        let arrived = tokio::select! {
            arrived = incoming.recv() => arrived,
            _ = tick.tick() => continue,
            Some(_) = open.join_next() => {
                connection_count.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
        };
        let Some(AcceptedConnection { stream, admission }) = arrived else {
            break;
        };
        match TcpStream::from_std(stream) {
            Ok(stream) => {
                open.spawn(server.serve_connection(stream, admission));
            }
            Err(error) => {
                connection_count.fetch_sub(1, Ordering::Relaxed);
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
