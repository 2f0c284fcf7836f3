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

mod connect;
mod migrate;
mod row;
mod sql;

use sqlx::{AssertSqlSafe, PgPool, Postgres, Sqlite, SqlitePool, Transaction};

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

/// The pools of one database.
pub(crate) enum Db {
    Sqlite {
        writer: SqlitePool,
        readers: SqlitePool,
    },
    Postgres(PgPool),
}

/// A transaction. Dropped without [`Tx::commit`], it leaves no trace.
pub(crate) enum Tx {
    Sqlite(Transaction<'static, Sqlite>),
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
        Ok(match self {
            Db::Sqlite { readers, .. } => {
                let rows = prepared!(sql).fetch_all(readers).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Db::Postgres(pool) => {
                let rows = prepared!(sql).fetch_all(pool).await?;
                rows.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    /// The first row of a SELECT, if any, outside of any transaction.
    pub(crate) async fn one(&self, sql: Sql) -> Result<Option<Row>> {
        let sql = checked(sql)?;
        Ok(match self {
            Db::Sqlite { readers, .. } => prepared!(sql)
                .fetch_optional(readers)
                .await?
                .map(Row::Sqlite),
            Db::Postgres(pool) => prepared!(sql)
                .fetch_optional(pool)
                .await?
                .map(Row::Postgres),
        })
    }

    /// Begins a transaction that may write.
    pub(crate) async fn begin(&self) -> Result<Tx> {
        Ok(match self {
            Db::Sqlite { writer, .. } => Tx::Sqlite(writer.begin_with("BEGIN IMMEDIATE").await?),
            Db::Postgres(pool) => Tx::Postgres(pool.begin().await?),
        })
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
            Db::Sqlite { writer, readers } => {
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
            Tx::Sqlite(_) => Engine::Sqlite,
            Tx::Postgres(_) => Engine::Postgres,
        }
    }

    /// All rows of a statement.
    pub(crate) async fn all(&mut self, sql: Sql) -> Result<Vec<Row>> {
        let sql = checked(sql)?;
        Ok(match self {
            Tx::Sqlite(tx) => {
                let rows = prepared!(sql).fetch_all(&mut **tx).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Tx::Postgres(tx) => {
                let sql = locked(sql);
                let rows = prepared!(sql).fetch_all(&mut **tx).await?;
                rows.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    /// The first row of a statement, if any. All of them are read: a statement
    /// with RETURNING is done only when its rows have been taken.
    pub(crate) async fn one(&mut self, sql: Sql) -> Result<Option<Row>> {
        Ok(self.all(sql).await?.into_iter().next())
    }

    /// Runs a statement; gives the number of rows it changed.
    pub(crate) async fn run(&mut self, sql: Sql) -> Result<u64> {
        let sql = checked(sql)?;
        Ok(match self {
            Tx::Sqlite(tx) => prepared!(sql).execute(&mut **tx).await?.rows_affected(),
            Tx::Postgres(tx) => prepared!(sql).execute(&mut **tx).await?.rows_affected(),
        })
    }

    /// Makes everything of this transaction permanent and visible, at once.
    pub(crate) async fn commit(self) -> Result<()> {
        match self {
            Tx::Sqlite(tx) => tx.commit().await?,
            Tx::Postgres(tx) => tx.commit().await?,
        }
        Ok(())
    }

    /// Undoes everything of this transaction.
    pub(crate) async fn rollback(self) -> Result<()> {
        match self {
            Tx::Sqlite(tx) => tx.rollback().await?,
            Tx::Postgres(tx) => tx.rollback().await?,
        }
        Ok(())
    }
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
