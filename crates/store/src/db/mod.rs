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
//! # Boxed futures
//!
//! The body of an `async fn` is compiled wherever it is awaited, in each crate again. So those that
//! call the drivers are no `async fn`: they return boxed futures, whose bodies are compiled here,
//! once. As `async fn`, the drivers of both databases were compiled again for every function above
//! the store that uses it, and their state was a part of all futures above: that of a run had
//! 38 KB, copied at each level. Waiting for a connection of a pool and what follows a failure are
//! boxed once more, because few statements need that state.

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

use futures_util::future::BoxFuture;
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
    pub(crate) fn fetch_all(&self, sql: Sql) -> BoxFuture<'_, Result<Vec<DbRow>>> {
        Box::pin(async move {
            let sql = reject_nul(sql)?;
            Ok(read!(self, sql, fetch_all, collect))
        })
    }

    /// The first row of a SELECT, if any, outside of any transaction.
    pub(crate) fn fetch_optional(&self, sql: Sql) -> BoxFuture<'_, Result<Option<DbRow>>> {
        Box::pin(async move {
            let sql = reject_nul(sql)?;
            Ok(read!(self, sql, fetch_optional, next))
        })
    }

    /// Begins a transaction that may write.
    pub(crate) fn begin(&self) -> BoxFuture<'_, Result<Tx>> {
        Box::pin(async move {
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
        })
    }

    /// Executes one writing statement; returns the number of changed rows.
    pub(crate) fn execute(&self, sql: Sql) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async move {
            let mut tx = self.begin().await?;
            let changed = tx.execute(sql).await?;
            tx.commit().await?;
            Ok(changed)
        })
    }

    /// Executes one writing statement with a RETURNING clause, as [`Tx::commit_unsynced`] commits
    /// it. `sql` ends with a WHERE clause.
    ///
    /// A server answers once instead of four times: with the other changes of that time, a command
    /// over a cluster added 2.5 ms instead of 5.1 ms to its request.
    pub(crate) fn write_unsynced(
        &self,
        sql: Sql,
        returning: &'static str,
    ) -> BoxFuture<'_, Result<Vec<DbRow>>> {
        Box::pin(async move {
            #[cfg(feature = "postgres")]
            if let Db::Postgres(pool) = self {
                #[cfg(test)]
                crash::point()?;
                // Evaluated once, in the transaction that the server makes of the statement.
                let unsynced =
                    " AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off' ";
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
        })
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
    pub(crate) fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
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
        })
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
    pub(crate) fn fetch_all(&mut self, sql: Sql) -> BoxFuture<'_, Result<Vec<DbRow>>> {
        Box::pin(async move {
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
        })
    }

    /// The first row of a statement, if any. All rows are read: a statement with
    /// RETURNING completes only when its rows have been read.
    pub(crate) async fn fetch_optional(&mut self, sql: Sql) -> Result<Option<DbRow>> {
        Ok(self.fetch_all(sql).await?.into_iter().next())
    }

    /// Executes a statement; returns the number of changed rows.
    pub(crate) fn execute(&mut self, sql: Sql) -> BoxFuture<'_, Result<u64>> {
        Box::pin(async move {
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
        })
    }

    /// Commits the transaction.
    pub(crate) fn commit(self) -> BoxFuture<'static, Result<()>> {
        Box::pin(async move {
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
        })
    }

    /// Commits the transaction without waiting until a server has written it to its disk. It
    /// holds for all others at once, but may be undone if the server crashes in the next moment.
    /// SQLite waits always.
    pub(crate) fn commit_unsynced(mut self) -> BoxFuture<'static, Result<()>> {
        Box::pin(async move {
            if self.database() == Database::Postgres {
                let sql = Sql::new("SET LOCAL synchronous_commit TO OFF");
                self.execute(sql).await?;
            }
            self.commit().await
        })
    }

    /// Rolls back the transaction. A failure can be ignored: nothing uncommitted is ever
    /// visible, and the connection is checked before its next use.
    pub(crate) fn rollback(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
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
        })
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
