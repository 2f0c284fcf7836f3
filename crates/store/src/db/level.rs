//! Reads the migration level of a database without changing it.

use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, Row, SqliteConnection};

use super::migrate::SELECT_VERSION;
use crate::error::Result;

/// The level of an SQLite database; `None` if the file does not exist.
pub(crate) async fn sqlite_level(file: &Path) -> Result<Option<i64>> {
    if !file.exists() {
        return Ok(None);
    }
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(false)
        .read_only(true);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    let table = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'";
    let table = sqlx::query(table).fetch_optional(&mut connection).await?;
    let level = match table {
        None => 0,
        Some(_) => {
            let row = sqlx::query(SELECT_VERSION).fetch_one(&mut connection);
            row.await?.try_get("version")?
        }
    };
    connection.close().await?;
    Ok(Some(level))
}

/// The level of a PostgreSQL database.
#[cfg(feature = "postgres")]
pub(crate) async fn postgres_level(url: &str) -> Result<Option<i64>> {
    let connecting = sqlx::PgConnection::connect(url);
    let mut connection =
        match tokio::time::timeout(super::connect::ACQUIRE_TIMEOUT, connecting).await {
            Ok(connection) => connection?,
            Err(_) => return Err(sqlx::Error::PoolTimedOut.into()),
        };
    let table = "SELECT 1 AS found WHERE to_regclass('schema_version') IS NOT NULL";
    let table = sqlx::query(table).fetch_optional(&mut connection).await?;
    let level = match table {
        None => 0,
        Some(_) => {
            let row = sqlx::query(SELECT_VERSION).fetch_one(&mut connection);
            row.await?.try_get("version")?
        }
    };
    connection.close().await?;
    Ok(Some(level))
}

/// Refuses, as opening does: this build cannot connect to a server.
#[cfg(not(feature = "postgres"))]
pub(crate) async fn postgres_level(_: &str) -> Result<Option<i64>> {
    Err(crate::error::Error::Config {
        setting: "store.url",
        reason: "this build has no PostgreSQL support; build it with the feature `postgres`, or \
                 use `sqlite`"
            .to_owned(),
    })
}
