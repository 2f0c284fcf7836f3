//! Accepts connections, and shuts down gracefully.
//!
//! Connections are always accepted: `connections` decides which others are evicted. On
//! shutdown the server says so to health checks and to the other gateways of its cluster, gives
//! them its kept runs at once, accepts no new connection, lets every active request finish, and
//! aborts the rest after a deadline.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures_util::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::time::{Instant, interval_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::app::App;
use crate::batches::scheduler::BatchScheduler;
use crate::connection_server::ConnectionServer;
use crate::connections::{ConnectionBounds, Connections};
use crate::kept_runs::batch_runs::KeptBatchRuns;
use crate::kept_runs::claim;
use crate::kept_runs::release::release_all;
use crate::webhooks::deliver;
use crate::workers::WorkerPool;

/// Options for connections.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Maximum number of connections. Beyond that, one without a request is evicted for each
    /// new one, from the address with the most connections: an unused one, or the one idle for
    /// longest. If all have requests with authenticated senders, the new one gets a 503.
    pub connections: usize,
    /// Maximum number of connections of one address (IPv4) or /64 network (IPv6); three
    /// quarters of all by default. Behind a proxy all come from its address.
    pub connections_per_address: Option<usize>,
    /// Time from accepting a connection to the complete head of its first request.
    pub head: Duration,
    /// How long a connection may be without a request after that, and how long a client may
    /// leave a response unread.
    pub idle: Duration,
    /// How long connections are still accepted on shutdown, while `/readyz` refuses: load
    /// balancers send requests until they have seen that. Zero by default, and in a cluster a
    /// few seconds.
    pub drain: Option<Duration>,
    /// How long active requests may take to finish on shutdown.
    pub grace: Duration,
    /// Interval of garbage collection in the store.
    pub housekeeping: Duration,
    /// Pages for browsers, below `/console`; none by default.
    pub pages: Option<Router>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions {
            connections: 4_096,
            connections_per_address: None,
            head: Duration::from_secs(15),
            idle: Duration::from_secs(75),
            drain: None,
            grace: Duration::from_secs(30),
            housekeeping: Duration::from_secs(600),
            pages: None,
        }
    }
}

/// [`ServeOptions::drain`] of a gateway of a cluster.
const CLUSTER_DRAIN: Duration = Duration::from_secs(3);
/// Deleted content stays readable this long for active readers.
const GARBAGE_AGE: Duration = Duration::from_secs(3_600);
/// Interval of aggregating metrics.
const METRICS_UPKEEP_INTERVAL: Duration = Duration::from_secs(5);
/// How long to wait when the system provides no connection, for instance because no file
/// descriptor is left.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// How often that is logged.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Serves until `stop` is cancelled and all requests have ended. Fails only if the worker
/// threads cannot be started.
pub fn serve(
    listener: TcpListener,
    app: App,
    stop: CancellationToken,
    options: ServeOptions,
) -> BoxFuture<'static, io::Result<()>> {
    // Boxed, so that callers do not compile the whole server again.
    Box::pin(serve_until_stopped(listener, app, stop, options))
}

async fn serve_until_stopped(
    listener: TcpListener,
    app: App,
    stop: CancellationToken,
    options: ServeOptions,
) -> io::Result<()> {
    let joined = app.join_cluster().await;
    let service = app.service_with_pages(options.pages.clone());
    let workers = WorkerPool::start(&ConnectionServer::new(service), options.grace)?;
    let housekeeping = tokio::spawn(run_housekeeping(
        app.clone(),
        options.housekeeping,
        stop.clone(),
    ));
    let webhooks = AbortOnDropHandle::new(tokio::spawn(deliver_webhooks(&app, stop.clone())));
    let claims = AbortOnDropHandle::new(tokio::spawn(claim::run(app.clone(), stop.clone())));
    let batches = AbortOnDropHandle::new(tokio::spawn(schedule_batches(&app, stop.clone())));
    let vectors = AbortOnDropHandle::new(tokio::spawn(write_vectors(app.clone(), stop.clone())));
    let connections = Connections::new(options.connection_bounds());
    let sweep = AbortOnDropHandle::new(tokio::spawn(Arc::clone(&connections).sweep()));
    let drained = async {
        stop.cancelled().await;
        app.begin_drain();
        let _ = claims.await;
        // Another server, or this one after a restart, continues them at once.
        release_all(&app).await;
        let time = options.drain_time(&app);
        if !time.is_zero() {
            tokio::time::sleep(time).await;
        }
    };
    tokio::select! {
        () = drained => {}
        () = accept(&listener, &connections, &workers) => {}
    }
    drop(listener);
    // Their streams have no end and would otherwise be waited for.
    app.mcp().close().await;
    connections.close_all();
    workers.finish().await;
    drop(sweep);
    app.flush().await;
    // They stop by the same token.
    let _ = housekeeping.await;
    let _ = webhooks.await;
    let _ = batches.await;
    let _ = vectors.await;
    if let Some(joined) = joined {
        joined.leave().await;
    }
    Ok(())
}

/// Writes the vectors of new skills. What is not written when the server stops is found again.
async fn write_vectors(app: App, stop: CancellationToken) {
    let mut changed = app.watch_settings();
    loop {
        changed.mark_unchanged();
        let app = app.current();
        let write = async {
            app.engine().write_skill_vectors().await;
            // No model is configured.
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = stop.cancelled() => return,
            Ok(()) = changed.changed() => {}
            () = write => {}
        }
    }
}

/// Delivers the webhooks of ended runs.
fn deliver_webhooks(app: &App, stop: CancellationToken) -> impl Future<Output = ()> + Send + use<> {
    let of_now = app.clone();
    deliver::run(
        app.store().clone(),
        move || of_now.current().settings().webhooks.clone(),
        app.watch_settings(),
        Arc::clone(app.webhook_wake()),
        stop,
    )
}

/// Schedules batches, while no other server with the same store does.
fn schedule_batches(app: &App, stop: CancellationToken) -> impl Future<Output = ()> + Send + use<> {
    let settings = app.settings();
    let scheduler = BatchScheduler::new(
        app.store().clone(),
        settings.batches,
        settings.request_bytes,
        KeptBatchRuns::new(app.clone()),
        app.local_runs().owner().to_owned(),
    );
    let of_now = app.clone();
    let scheduler = scheduler.with_limits(move || {
        let app = of_now.current();
        (app.settings().batches, app.settings().request_bytes)
    });
    scheduler.run(Arc::clone(app.batch_wake()), stop)
}

impl ServeOptions {
    fn drain_time(&self, app: &App) -> Duration {
        let default = match app.cluster() {
            Some(_) => CLUSTER_DRAIN,
            None => Duration::ZERO,
        };
        self.drain.unwrap_or(default)
    }

    fn connection_bounds(&self) -> ConnectionBounds {
        let connections = self.connections.max(1);
        let default_per_address = connections - connections / 4;
        ConnectionBounds {
            connections,
            per_address: self
                .connections_per_address
                .unwrap_or(default_per_address)
                .max(1),
            first_request: self.head,
            idle: self.idle,
        }
    }
}

/// Accepts connections forever.
async fn accept(listener: &TcpListener, connections: &Arc<Connections>, workers: &WorkerPool) {
    let mut last_logged: Option<Instant> = None;
    loop {
        let error = match listener.accept().await {
            Ok((stream, peer)) => {
                if let Some(admission) = connections.admit(peer.ip()).await {
                    workers.dispatch(stream, admission);
                }
                continue;
            }
            Err(error) => error,
        };
        if last_logged.is_none_or(|last| last.elapsed() >= LOG_INTERVAL) {
            last_logged = Some(Instant::now());
            tracing::warn!(%error, "cannot accept a connection");
        }
        // A queued connection can only be accepted when another has ended.
        if is_exhausted(&error) {
            connections.evict_one();
        }
        let _ = tokio::time::timeout(ACCEPT_RETRY_DELAY, connections.connection_ended()).await;
    }
}

/// Whether the process or the system has no file descriptor left.
fn is_exhausted(error: &io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}

async fn run_housekeeping(app: App, every: Duration, stop: CancellationToken) {
    let every = every.max(METRICS_UPKEEP_INTERVAL);
    let mut collecting = interval_at(Instant::now() + every, every);
    let mut upkeep = interval_at(
        Instant::now() + METRICS_UPKEEP_INTERVAL,
        METRICS_UPKEEP_INTERVAL,
    );
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = upkeep.tick() => {
                app.metrics().run_upkeep();
                continue;
            }
            _ = collecting.tick() => {}
        }
        match app.store().collect_garbage(GARBAGE_AGE).await {
            Ok(collected) if collected.blobs + collected.files > 0 => {
                tracing::info!(
                    blobs = collected.blobs,
                    bytes = collected.bytes,
                    "garbage collected"
                );
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "garbage collection failed"),
        }
    }
}
