//! The database: one set of queries for SQLite and PostgreSQL.
//!
//! The rest of the crate writes [`Sql`] that both databases accept, independent of the
//! drivers. Where they differ (the schema, full-text search), [`Db::database`] selects
//! the variant.
//!
//! # SQLite
//!
//! One connection writes, a few read. Every writing transaction begins with `BEGIN
//! IMMEDIATE`, so it never fails half-way because another process wrote first: it waits
//! its turn at the start.
//!
//! A connection whose state is in doubt after a failure is closed and replaced by a new
//! one; see [`fault`].
//!
//! # Size of futures
//!
//! Waiting for a connection of a pool takes 8 KB of state, for both databases inlined into
//! every function that uses the store and into everything that awaits it: the future of a
//! run had 38 KB, copied at each level. So these waits, and what follows a failure, are
//! boxed here, once.

mod connect;
#[cfg(test)]
pub(crate) mod crash;
pub(crate) mod fault;
mod level;
mod migrate;
mod row;
#[cfg(feature = "postgres")]
mod server_statement;
mod sql;

use std::sync::Arc;

use sqlx::{AssertSqlSafe, Sqlite, SqlitePool, Transaction};
#[cfg(feature = "postgres")]
use sqlx::{PgPool, Postgres};

use fault::SqliteFaults;
pub(crate) use level::{postgres_level, sqlite_level};
pub(crate) use migrate::known_migrations;
pub(crate) use row::DbRow;
#[cfg(feature = "postgres")]
use server_statement::{with_row_locks, with_statement_timeout};
pub(crate) use sql::{Sql, SqlValue};

use crate::error::{Error, Result};

/// The kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    /// Embedded, in the data directory.
    Sqlite,
    /// A server. A build without the feature `postgres` opens none.
    Postgres,
}

impl Database {
    /// The clock of the database, in microseconds since 1970. Leases are compared with it
    /// only: the clocks of servers differ, and `now()` of PostgreSQL stands still within a
    /// transaction.
    pub(crate) const fn clock(self) -> &'static str {
        match self {
            Database::Sqlite => "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
            Database::Postgres => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
        }
    }
}

/// The connection pools of one database.
pub(crate) enum Db {
    Sqlite {
        writer: SqlitePool,
        readers: SqlitePool,
        faults: Arc<SqliteFaults>,
    },
    #[cfg(feature = "postgres")]
    Postgres(PgPool),
}

/// A transaction. If dropped without [`Tx::commit`], it is rolled back.
pub(crate) enum Tx {
    Sqlite(Transaction<'static, Sqlite>, Arc<SqliteFaults>),
    #[cfg(feature = "postgres")]
    Postgres(Transaction<'static, Postgres>),
}

/// The statement with its values bound, for the driver of the executor.
macro_rules! prepared {
    ($sql:expr) => {{
        let mut query = sqlx::query(AssertSqlSafe($sql.text));
        for value in $sql.values {
            query = match value {
                SqlValue::Int(value) => query.bind(value),
                SqlValue::Text(value) => query.bind(value),
                SqlValue::Bytes(value) => query.bind(value),
            };
        }
        query
    }};
}

/// Reads outside of any transaction, and ends with the given method of the rows' iterator.
/// A connection in doubt is closed.
macro_rules! read {
    ($db:expr, $sql:expr, $fetch:ident, $end:ident) => {
        match $db {
            Db::Sqlite {
                readers, faults, ..
            } => {
                let mut reader = match Box::pin(readers.acquire()).await {
                    Ok(reader) => reader,
                    Err(error) => return Err(Box::pin(faults.explain(error)).await),
                };
                match prepared!($sql).$fetch(&mut *reader).await {
                    Ok(rows) => rows.into_iter().map(DbRow::Sqlite).$end(),
                    Err(error) => {
                        if fault::is_suspect(&error) {
                            reader.close_on_drop();
                        }
                        return Err(Box::pin(faults.explain(error)).await);
                    }
                }
            }
            #[cfg(feature = "postgres")]
            Db::Postgres(pool) => {
                let mut reader = Box::pin(pool.acquire()).await?;
                match with_statement_timeout(prepared!($sql).$fetch(&mut *reader)).await {
                    Ok(rows) => rows.into_iter().map(DbRow::Postgres).$end(),
                    Err(error) => {
                        if fault::is_suspect(&error) {
                            reader.close_on_drop();
                        }
                        return Err(error.into());
                    }
                }
            }
        }
    };
}

impl Db {
    /// The kind of database.
    pub(crate) fn database(&self) -> Database {
        match self {
            Db::Sqlite { .. } => Database::Sqlite,
            #[cfg(feature = "postgres")]
            Db::Postgres(_) => Database::Postgres,
        }
    }

    /// All rows of a SELECT, outside of any transaction.
    pub(crate) async fn fetch_all(&self, sql: Sql) -> Result<Vec<DbRow>> {
        let sql = reject_nul(sql)?;
        Ok(read!(self, sql, fetch_all, collect))
    }

    /// The first row of a SELECT, if any, outside of any transaction.
    pub(crate) async fn fetch_optional(&self, sql: Sql) -> Result<Option<DbRow>> {
        let sql = reject_nul(sql)?;
        Ok(read!(self, sql, fetch_optional, next))
    }

    /// Begins a transaction that may write.
    pub(crate) async fn begin(&self) -> Result<Tx> {
        #[cfg(test)]
        crash::point()?;
        match self {
            Db::Sqlite { writer, faults, .. } => {
                match Box::pin(writer.begin_with("BEGIN IMMEDIATE")).await {
                    Ok(tx) => Ok(Tx::Sqlite(tx, Arc::clone(faults))),
                    Err(error) => Err(Box::pin(faults.on_writer_error(error)).await),
                }
            }
            #[cfg(feature = "postgres")]
            Db::Postgres(pool) => {
                let tx = Box::pin(with_statement_timeout(pool.begin())).await?;
                Ok(Tx::Postgres(tx))
            }
        }
    }

    /// Executes one writing statement; returns the number of changed rows.
    pub(crate) async fn execute(&self, sql: Sql) -> Result<u64> {
        let mut tx = self.begin().await?;
        let changed = tx.execute(sql).await?;
        tx.commit().await?;
        Ok(changed)
    }

    /// Executes one writing statement with a RETURNING clause, as [`Tx::commit_unsynced`] commits
    /// it. `sql` ends with a WHERE clause.
    ///
    /// A server answers once instead of four times: with the other changes of that time, a command
    /// over a cluster added 2.5 ms instead of 5.1 ms to its request.
    pub(crate) async fn write_unsynced(
        &self,
        sql: Sql,
        returning: &'static str,
    ) -> Result<Vec<DbRow>> {
        #[cfg(feature = "postgres")]
        if let Db::Postgres(pool) = self {
            #[cfg(test)]
            crash::point()?;
            // Evaluated once, in the transaction that the server makes of the statement.
            let unsynced = " AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off' ";
            let sql = reject_nul(sql.push(unsynced).push(returning))?;
            let mut writer = Box::pin(pool.acquire()).await?;
            let written = with_statement_timeout(prepared!(sql).fetch_all(&mut *writer)).await;
            if written.as_ref().is_err_and(fault::is_suspect) {
                writer.close_on_drop();
            }
            let rows = written?;
            // Committed, but the caller never learns it.
            #[cfg(test)]
            crash::point()?;
            return Ok(rows.into_iter().map(DbRow::Postgres).collect());
        }
        let mut tx = self.begin().await?;
        let rows = tx.fetch_all(sql.push(" ").push(returning)).await?;
        tx.commit_unsynced().await?;
        Ok(rows)
    }

    /// How many connections are open, and how many of them are idle.
    pub(crate) fn connections(&self) -> (usize, usize) {
        match self {
            Db::Sqlite {
                writer, readers, ..
            } => (
                (writer.size() + readers.size()) as usize,
                writer.num_idle() + readers.num_idle(),
            ),
            #[cfg(feature = "postgres")]
            Db::Postgres(pool) => (pool.size() as usize, pool.num_idle()),
        }
    }

    /// Closes all connections.
    pub(crate) async fn close(&self) {
        match self {
            Db::Sqlite {
                writer, readers, ..
            } => {
                readers.close().await;
                writer.close().await;
            }
            #[cfg(feature = "postgres")]
            Db::Postgres(pool) => pool.close().await,
        }
    }
}

impl Tx {
    /// The kind of database.
    pub(crate) fn database(&self) -> Database {
        match self {
            Tx::Sqlite(..) => Database::Sqlite,
            #[cfg(feature = "postgres")]
            Tx::Postgres(_) => Database::Postgres,
        }
    }

    /// All rows of a statement.
    pub(crate) async fn fetch_all(&mut self, sql: Sql) -> Result<Vec<DbRow>> {
        #[cfg(test)]
        crash::point()?;
        let sql = reject_nul(sql)?;
        match self {
            Tx::Sqlite(tx, faults) => match prepared!(sql).fetch_all(&mut **tx).await {
                Ok(rows) => Ok(rows.into_iter().map(DbRow::Sqlite).collect()),
                Err(error) => Err(Box::pin(faults.on_writer_error(error)).await),
            },
            #[cfg(feature = "postgres")]
            Tx::Postgres(tx) => {
                let sql = with_row_locks(sql);
                let rows = with_statement_timeout(prepared!(sql).fetch_all(&mut **tx)).await?;
                Ok(rows.into_iter().map(DbRow::Postgres).collect())
            }
        }
    }

    /// The first row of a statement, if any. All rows are read: a statement with
    /// RETURNING completes only when its rows have been read.
    pub(crate) async fn fetch_optional(&mut self, sql: Sql) -> Result<Option<DbRow>> {
        Ok(self.fetch_all(sql).await?.into_iter().next())
    }

    /// Executes a statement; returns the number of changed rows.
    pub(crate) async fn execute(&mut self, sql: Sql) -> Result<u64> {
        #[cfg(test)]
        crash::point()?;
        let sql = reject_nul(sql)?;
        match self {
            Tx::Sqlite(tx, faults) => match prepared!(sql).execute(&mut **tx).await {
                Ok(done) => Ok(done.rows_affected()),
                Err(error) => Err(Box::pin(faults.on_writer_error(error)).await),
            },
            #[cfg(feature = "postgres")]
            Tx::Postgres(tx) => {
                let done = with_statement_timeout(prepared!(sql).execute(&mut **tx)).await?;
                Ok(done.rows_affected())
            }
        }
    }

    /// Commits the transaction.
    pub(crate) async fn commit(self) -> Result<()> {
        #[cfg(test)]
        crash::point()?;
        match self {
            Tx::Sqlite(tx, faults) => match tx.commit().await {
                Ok(()) => {}
                Err(error) => return Err(Box::pin(faults.on_writer_error(error)).await),
            },
            #[cfg(feature = "postgres")]
            Tx::Postgres(tx) => with_statement_timeout(tx.commit()).await?,
        }
        // Committed, but the caller never learns it.
        #[cfg(test)]
        crash::point()?;
        Ok(())
    }

    /// Commits the transaction without waiting until a server has written it to its disk. It
    /// holds for all others at once, but may be undone if the server crashes in the next moment.
    /// SQLite waits always.
    pub(crate) async fn commit_unsynced(mut self) -> Result<()> {
        if self.database() == Database::Postgres {
            let sql = Sql::new("SET LOCAL synchronous_commit TO OFF");
            self.execute(sql).await?;
        }
        self.commit().await
    }

    /// Rolls back the transaction. A failure can be ignored: nothing uncommitted is ever
    /// visible, and the connection is checked before its next use.
    pub(crate) async fn rollback(self) {
        match self {
            Tx::Sqlite(tx, faults) => {
                if let Err(error) = tx.rollback().await {
                    Box::pin(faults.on_writer_error(error)).await;
                }
            }
            #[cfg(feature = "postgres")]
            Tx::Postgres(tx) => {
                let _ = with_statement_timeout(tx.rollback()).await;
            }
        }
    }
}

/// PostgreSQL does not accept NUL in text. Rejecting it for both databases keeps them
/// from accepting different skills.
fn reject_nul(sql: Sql) -> Result<Sql> {
    let nul = |value: &SqlValue| matches!(value, SqlValue::Text(Some(text)) if text.contains('\0'));
    if sql.values.iter().any(nul) {
        return Err(Error::NulInText);
    }
    Ok(sql)
}
