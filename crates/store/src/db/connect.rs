//! Opens each kind of database.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use super::fault::{SqliteFaults, is_busy};
use super::{Db, migrate};
#[cfg(feature = "postgres")]
use crate::error::Error;
use crate::error::Result;
use crate::lost_database::EarlierContent;

/// How long a writer waits for its turn, and for the writers of other processes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// Between two attempts to open a database that another process is creating.
const OPEN_INTERVAL: Duration = Duration::from_millis(20);
/// How long a request waits for a connection to a server, or for a reader. When the
/// database is unreachable, failing soon is better.
pub(super) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a server may take to confirm that a connection is alive.
#[cfg(feature = "postgres")]
const PING_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_READERS: u32 = 4;
/// A connection that was used this recently is not checked again before its next use: it was
/// when it was released, and each check takes as long as a short statement.
#[cfg(feature = "postgres")]
const RECENT_USE: Duration = Duration::from_millis(100);
#[cfg(feature = "postgres")]
const MAX_POSTGRES_CONNECTIONS: u32 = 10;

impl Db {
    /// Opens or creates an SQLite database and migrates its schema. A database without a
    /// schema is refused if there is content of an earlier one.
    pub(crate) async fn open_sqlite(file: &Path, evidence: &EarlierContent<'_>) -> Result<Db> {
        // An upload is acknowledged after its commit, so the writer syncs every
        // commit to disk. Readers never commit; their setting does not matter.
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_TIMEOUT);
        let folder = file.parent().unwrap_or(file).to_owned();
        let faults = Arc::new(SqliteFaults::new(folder));
        let checked = Arc::clone(&faults);
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .test_before_acquire(false)
            .acquire_timeout(BUSY_TIMEOUT)
            .idle_timeout(None)
            .max_lifetime(None)
            .after_release(move |connection, _| {
                let faults = Arc::clone(&checked);
                Box::pin(async move { faults.can_reuse(connection).await })
            });
        let writer = connect_sqlite(&writer, &options).await?;
        migrate::migrate_sqlite(&writer, evidence).await?;
        // A replacement connection must never create a new database because the file was
        // removed.
        let options = options.create_if_missing(false);
        writer.set_connect_options(options.clone());
        // One of them always stays open: closing the last connection removes the log, and
        // on a full disk a new one could not be created.
        let readers = SqlitePoolOptions::new()
            .min_connections(1)
            .max_connections(MAX_READERS)
            .test_before_acquire(false)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .max_lifetime(None);
        let readers = connect_sqlite(&readers, &options.pragma("query_only", "ON")).await?;
        Ok(Db::Sqlite {
            writer,
            readers,
            faults,
        })
    }

    /// Connects to a PostgreSQL database and migrates its schema. A database without a
    /// schema is refused if there is content of an earlier one.
    #[cfg(feature = "postgres")]
    pub(crate) async fn open_postgres(url: &str, evidence: &EarlierContent<'_>) -> Result<Db> {
        use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
        let options: PgConnectOptions =
            url.parse().map_err(|error: sqlx::Error| Error::Config {
                setting: "store.url",
                reason: format!("not a PostgreSQL address: {error}"),
            })?;
        let pool = PgPoolOptions::new()
            .max_connections(MAX_POSTGRES_CONNECTIONS)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .test_before_acquire(false)
            .before_acquire(|connection, used| {
                Box::pin(async move {
                    match used.idle_for < RECENT_USE {
                        true => Ok(true),
                        false => check_alive(connection).await,
                    }
                })
            })
            .after_release(|connection, _| Box::pin(check_alive(connection)))
            .connect_with(options)
            .await?;
        migrate::migrate_postgres(&pool, evidence).await?;
        Ok(Db::Postgres(pool))
    }

    /// Refuses: this build cannot connect to a server.
    #[cfg(not(feature = "postgres"))]
    pub(crate) async fn open_postgres(_: &str, _: &EarlierContent<'_>) -> Result<Db> {
        Err(crate::error::Error::Config {
            setting: "store.url",
            reason: "this build has no PostgreSQL support; build it with the feature `postgres`, \
                     or use `sqlite`"
                .to_owned(),
        })
    }
}

/// Asks a server for a sign of life. Without a limit, an unreachable server would keep its
/// connections from being replaced.
#[cfg(feature = "postgres")]
async fn check_alive(connection: &mut sqlx::PgConnection) -> sqlx::Result<bool> {
    use sqlx::Connection;
    match tokio::time::timeout(PING_TIMEOUT, connection.ping()).await {
        Ok(alive) => alive.map(|()| true),
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}

/// Opens a pool. Processes that open a new database at the same time wait for each other here:
/// the first one switches it to write-ahead logging, for which SQLite needs a lock that it
/// does not wait for, whatever the busy timeout is.
async fn connect_sqlite(
    pool: &SqlitePoolOptions,
    options: &SqliteConnectOptions,
) -> sqlx::Result<SqlitePool> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match pool.clone().connect_with(options.clone()).await {
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                tokio::time::sleep(OPEN_INTERVAL).await;
            }
            opened => return opened,
        }
    }
}
