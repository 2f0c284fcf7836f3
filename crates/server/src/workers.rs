//! The worker threads that serve connections, each with its own runtime.
//!
//! A connection stays on one thread from its first byte to its last, and so do its upstream
//! calls. If tasks could move, every request would wake a second thread several times to look
//! for work that is already done: that took more time than the request itself. CPU-bound work
//! does not belong here; it runs in `spawn_blocking`.

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

/// Setting a timer must wake a sleeping clock if the timer is the next to expire. With this
/// tick always expiring soon, the many timeouts of requests never are the next.
const TICK_INTERVAL: Duration = Duration::from_millis(500);

/// Threads for blocking work, per worker. Each holds a megabyte or two of memory, and more of
/// them would wait for the same disk.
const MAX_BLOCKING_THREADS: usize = 16;

/// All worker threads.
pub(crate) struct WorkerPool(Vec<Worker>);

/// One worker thread.
struct Worker {
    connections: mpsc::UnboundedSender<AcceptedConnection>,
    /// Connections that it serves.
    connection_count: Arc<AtomicUsize>,
    /// At its end: connections that did not finish in time.
    ended: oneshot::Receiver<usize>,
}

/// A connection to be served. There are never more of them than were admitted.
struct AcceptedConnection {
    stream: StdStream,
    admission: Admission,
}

impl WorkerPool {
    /// Starts one thread per processor.
    pub(crate) fn start(server: &ConnectionServer, grace: Duration) -> io::Result<WorkerPool> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = (0..processors).map(|_| Worker::start(server.clone(), grace));
        workers.collect::<io::Result<_>>().map(WorkerPool)
    }

    /// Gives a connection to the worker with the fewest.
    pub(crate) fn dispatch(&self, stream: TcpStream, admission: Admission) {
        let worker = self
            .0
            .iter()
            .min_by_key(|worker| worker.connection_count.load(Ordering::Relaxed));
        let Some((worker, stream)) = worker.zip(stream.into_std().ok()) else {
            return;
        };
        worker.connection_count.fetch_add(1, Ordering::Relaxed);
        // A worker ends only after `finish` was called.
        let _ = worker
            .connections
            .send(AcceptedConnection { stream, admission });
    }

    /// Lets every active request finish, and aborts the rest after the grace period.
    pub(crate) async fn finish(self) {
        let mut cut = 0;
        let ends: Vec<_> = self.0.into_iter().map(|worker| worker.ended).collect();
        for ended in ends {
            cut += ended.await.unwrap_or_default();
        }
        if cut > 0 {
            tracing::warn!(
                open = cut,
                "requests did not finish within the grace period and were aborted"
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
            .name("prowess-worker".to_owned())
            .spawn(move || {
                let cut = runtime.block_on(run_worker(server, incoming, counted, grace));
                // No receiver if the server was dropped.
                let _ = end.send(cut);
            })?;
        Ok(Worker {
            connections,
            connection_count,
            ended,
        })
    }
}

/// Serves connections until the channel closes; returns how many had to be aborted.
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
                tracing::warn!(%error, "cannot serve a connection");
            }
        }
    }
    // All connections were asked to close.
    let ends = async { while open.join_next().await.is_some() {} };
    // After the grace period the remaining ones are aborted.
    let _ = tokio::time::timeout(grace, ends).await;
    let cut = open.len();
    open.shutdown().await;
    cut
}
