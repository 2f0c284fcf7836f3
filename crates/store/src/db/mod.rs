//! The database: one set of queries, two engines.
//!
//! The rest of the crate writes [`Sql`] that both engines read alike and knows
//! neither driver. What cannot be said alike (the schema, full-text search) is
//! told apart by [`Db::engine`].
//!
//! # SQLite
//!
//! One connection writes, a few read. Every writing transaction begins with
//! `BEGIN IMMEDIATE`, so it never fails half-way because another process wrote
//! first: it waits its turn at the start.
//!
//! A connection that failed in a way which leaves its state in doubt is closed and
//! replaced by a new one: [`fault`] knows which failures do.

mod connect;
pub(crate) mod fault;
mod migrate;
mod row;
mod sql;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use sqlx::{AssertSqlSafe, PgPool, Postgres, Sqlite, SqlitePool, Transaction};

use fault::SqliteFaults;
pub(crate) use row::Row;
pub(crate) use sql::{Sql, Value};

use crate::error::{Error, Result};

/// Which engine holds the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Embedded, in the data folder.
    Sqlite,
    /// A server.
    Postgres,
}

/// How long a server may take for one statement. A server whose machine is gone gives
/// no answer and no error.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// The pools of one database.
pub(crate) enum Db {
    Sqlite {
        writer: SqlitePool,
        readers: SqlitePool,
        faults: Arc<SqliteFaults>,
    },
    Postgres(PgPool),
}

/// A transaction. Dropped without [`Tx::commit`], it leaves no trace.
pub(crate) enum Tx {
    Sqlite(Transaction<'static, Sqlite>, Arc<SqliteFaults>),
    Postgres(Transaction<'static, Postgres>),
}

/// The statement with its values bound, for whichever driver the executor is of.
macro_rules! prepared {
    ($sql:expr) => {{
        let mut query = sqlx::query(AssertSqlSafe($sql.text));
        for value in $sql.values {
            query = match value {
                Value::Int(value) => query.bind(value),
                Value::Text(value) => query.bind(value),
                Value::Bytes(value) => query.bind(value),
            };
        }
        query
    }};
}

/// What a driver gave.
enum Rows<S, P> {
    Sqlite(S),
    Postgres(P),
}

/// Reads outside of any transaction. A connection that failed in doubtful ways is
/// closed.
macro_rules! read {
    ($db:expr, $sql:expr, $fetch:ident) => {
        match $db {
            Db::Sqlite {
                readers, faults, ..
            } => {
                let mut reader = match readers.acquire().await {
                    Ok(reader) => reader,
                    Err(error) => return Err(faults.explain(error).await),
                };
                match prepared!($sql).$fetch(&mut *reader).await {
                    Ok(rows) => Rows::Sqlite(rows),
                    Err(error) => {
                        if fault::is_suspect(&error) {
                            reader.close_on_drop();
                        }
                        return Err(faults.explain(error).await);
                    }
                }
            }
            Db::Postgres(pool) => {
                let mut reader = pool.acquire().await?;
                match within(prepared!($sql).$fetch(&mut *reader)).await {
                    Ok(rows) => Rows::Postgres(rows),
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
    /// Which engine this is.
    pub(crate) fn engine(&self) -> Engine {
        match self {
            Db::Sqlite { .. } => Engine::Sqlite,
            Db::Postgres(_) => Engine::Postgres,
        }
    }

    /// All rows of a SELECT, outside of any transaction.
    pub(crate) async fn all(&self, sql: Sql) -> Result<Vec<Row>> {
        let sql = checked(sql)?;
        let rows = read!(self, sql, fetch_all);
        Ok(match rows {
            Rows::Sqlite(rows) => rows.into_iter().map(Row::Sqlite).collect(),
            Rows::Postgres(rows) => rows.into_iter().map(Row::Postgres).collect(),
        })
    }

    /// The first row of a SELECT, if any, outside of any transaction.
    pub(crate) async fn one(&self, sql: Sql) -> Result<Option<Row>> {
        let sql = checked(sql)?;
        let row = read!(self, sql, fetch_optional);
        Ok(match row {
            Rows::Sqlite(row) => row.map(Row::Sqlite),
            Rows::Postgres(row) => row.map(Row::Postgres),
        })
    }

    /// Begins a transaction that may write.
    pub(crate) async fn begin(&self) -> Result<Tx> {
        match self {
            Db::Sqlite { writer, faults, .. } => match writer.begin_with("BEGIN IMMEDIATE").await {
                Ok(tx) => Ok(Tx::Sqlite(tx, Arc::clone(faults))),
                Err(error) => Err(faults.of_writer(error).await),
            },
            Db::Postgres(pool) => {
                let begun = within(pool.begin()).await?;
                Ok(Tx::Postgres(begun))
            }
        }
    }

    /// Runs one writing statement by itself; gives the number of rows it changed.
    pub(crate) async fn run(&self, sql: Sql) -> Result<u64> {
        let mut tx = self.begin().await?;
        let changed = tx.run(sql).await?;
        tx.commit().await?;
        Ok(changed)
    }

    /// Ends all connections.
    pub(crate) async fn close(&self) {
        match self {
            Db::Sqlite {
                writer, readers, ..
            } => {
                readers.close().await;
                writer.close().await;
            }
            Db::Postgres(pool) => pool.close().await,
        }
    }
}

impl Tx {
    /// Which engine this is.
    pub(crate) fn engine(&self) -> Engine {
        match self {
            Tx::Sqlite(..) => Engine::Sqlite,
            Tx::Postgres(_) => Engine::Postgres,
        }
    }

    /// All rows of a statement.
    pub(crate) async fn all(&mut self, sql: Sql) -> Result<Vec<Row>> {
        let sql = checked(sql)?;
        match self {
            Tx::Sqlite(tx, faults) => match prepared!(sql).fetch_all(&mut **tx).await {
                Ok(rows) => Ok(rows.into_iter().map(Row::Sqlite).collect()),
                Err(error) => Err(faults.of_writer(error).await),
            },
            Tx::Postgres(tx) => {
                let sql = locked(sql);
                let rows = within(prepared!(sql).fetch_all(&mut **tx)).await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// The first row of a statement, if any. All of them are read: a statement
    /// with RETURNING is done only when its rows have been taken.
    pub(crate) async fn one(&mut self, sql: Sql) -> Result<Option<Row>> {
        Ok(self.all(sql).await?.into_iter().next())
    }

    /// Runs a statement; gives the number of rows it changed.
    pub(crate) async fn run(&mut self, sql: Sql) -> Result<u64> {
        let sql = checked(sql)?;
        match self {
            Tx::Sqlite(tx, faults) => match prepared!(sql).execute(&mut **tx).await {
                Ok(done) => Ok(done.rows_affected()),
                Err(error) => Err(faults.of_writer(error).await),
            },
            Tx::Postgres(tx) => {
                let done = within(prepared!(sql).execute(&mut **tx)).await?;
                Ok(done.rows_affected())
            }
        }
    }

    /// Makes everything of this transaction permanent and visible, at once.
    pub(crate) async fn commit(self) -> Result<()> {
        match self {
            Tx::Sqlite(tx, faults) => match tx.commit().await {
                Ok(()) => Ok(()),
                Err(error) => Err(faults.of_writer(error).await),
            },
            Tx::Postgres(tx) => Ok(within(tx.commit()).await?),
        }
    }

    /// Undoes everything of this transaction. That this fails is of no interest: what
    /// is not committed is never seen, and the connection is looked at before its next use.
    pub(crate) async fn rollback(self) {
        match self {
            Tx::Sqlite(tx, faults) => {
                if let Err(error) = tx.rollback().await {
                    faults.of_writer(error).await;
                }
            }
            Tx::Postgres(tx) => {
                let _ = within(tx.rollback()).await;
            }
        }
    }
}

/// Waits for a server, but not for ever.
async fn within<T>(work: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    let done = tokio::time::timeout(STATEMENT_TIMEOUT, work).await;
    done.unwrap_or_else(|_| Err(sqlx::Error::Io(io::ErrorKind::TimedOut.into())))
}

fn locked(mut sql: Sql) -> Sql {
    if sql.locking {
        sql = sql.push(" FOR UPDATE");
    }
    sql
}

/// PostgreSQL has no NUL in text. Refusing it here, for both engines, keeps a
/// skill that one takes from being a skill that the other does not.
fn checked(sql: Sql) -> Result<Sql> {
    let nul = |value: &Value| matches!(value, Value::Text(Some(text)) if text.contains('\0'));
    if sql.values.iter().any(nul) {
        return Err(Error::Nul);
    }
    Ok(sql)
}
