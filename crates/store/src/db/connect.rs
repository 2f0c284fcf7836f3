//! How each engine is opened.

use std::path::Path;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use super::{Db, migrate};
use crate::error::{Error, Result};

/// How long a writer waits for the writers of other processes.
const BUSY: Duration = Duration::from_secs(30);
const READERS: u32 = 4;
const POSTGRES_CONNECTIONS: u32 = 10;

impl Db {
    /// Opens, or creates, an SQLite database and brings its schema up to date.
    pub(crate) async fn open_sqlite(file: &Path) -> Result<Db> {
        // An upload is acknowledged after its commit, so the writer syncs every
        // commit to disk. Readers never commit; their setting does not matter.
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY);
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .test_before_acquire(false)
            .acquire_timeout(BUSY)
            .connect_with(options.clone())
            .await?;
        migrate::sqlite(&writer).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .test_before_acquire(false)
            .acquire_timeout(BUSY)
            .connect_lazy_with(options.pragma("query_only", "ON"));
        Ok(Db::Sqlite { writer, readers })
    }

    /// Connects to a PostgreSQL database and brings its schema up to date.
    pub(crate) async fn open_postgres(url: &str) -> Result<Db> {
        let options: PgConnectOptions =
            url.parse().map_err(|error: sqlx::Error| Error::Config {
                setting: "store.url",
                reason: format!("not a PostgreSQL address: {error}"),
            })?;
        let pool = PgPoolOptions::new()
            .max_connections(POSTGRES_CONNECTIONS)
            .acquire_timeout(BUSY)
            .connect_with(options)
            .await?;
        migrate::postgres(&pool).await?;
        Ok(Db::Postgres(pool))
    }
}
