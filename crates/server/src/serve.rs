//! Connections: how many, how slow, and how they end.
//!
//! When the server is told to stop it takes no new connection, lets every request
//! that is under way finish, and after a deadline ends the rest.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, interval_at};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::crew::Crew;
use crate::door::Door;

/// How connections are treated.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Connections at once; more wait to be accepted.
    pub connections: usize,
    /// How long the head of a request may take.
    pub head: Duration,
    /// How long requests that are under way may take to finish once the server is
    /// told to stop.
    pub grace: Duration,
    /// How often content that nobody refers to is collected.
    pub housekeeping: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions {
            connections: 4_096,
            head: Duration::from_secs(15),
            grace: Duration::from_secs(30),
            housekeeping: Duration::from_secs(600),
        }
    }
}

/// What was deleted stays readable this long for those who are reading it.
const GARBAGE_AGE: Duration = Duration::from_secs(3_600);
/// How often what was recorded for the metrics is added up.
const SUM_UP: Duration = Duration::from_secs(5);
/// How long to wait when the system gives no connection, for instance because it has
/// no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `stop` is cancelled and everything under way has ended. Fails only if
/// the threads for it cannot be started.
pub async fn serve(
    listener: TcpListener,
    app: App,
    stop: CancellationToken,
    options: ServeOptions,
) -> io::Result<()> {
    let crew = Crew::start(&Door::new(app.front(), options.head), options.grace)?;
    let house = tokio::spawn(keep_house(app.clone(), options.housekeeping, stop.clone()));
    let seats = Arc::new(Semaphore::new(options.connections.max(1)));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&listener, &seats) => accepted,
        };
        if let Some((stream, seat)) = accepted {
            crew.attend(stream, seat);
        }
    }
    drop(listener);
    // Their streams have no end of their own, and would be waited for.
    app.mcp().close().await;
    crew.finish().await;
    app.settle().await;
    // It stops by the same token.
    let _ = house.await;
    Ok(())
}

async fn accept(
    listener: &TcpListener,
    seats: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let seat = seats.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _peer)) => Some((stream, seat)),
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

async fn keep_house(app: App, every: Duration, stop: CancellationToken) {
    let every = every.max(SUM_UP);
    let mut collecting = interval_at(Instant::now() + every, every);
    let mut summing = interval_at(Instant::now() + SUM_UP, SUM_UP);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = summing.tick() => {
                app.metrics().sum_up();
                continue;
            }
            _ = collecting.tick() => {}
        }
        match app.store().collect_garbage(GARBAGE_AGE).await {
            Ok(collected) if collected.blobs + collected.files > 0 => {
                tracing::info!(
                    blobs = collected.blobs,
                    bytes = collected.bytes,
                    "collected"
                );
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "cannot collect what is no longer used"),
        }
    }
}
