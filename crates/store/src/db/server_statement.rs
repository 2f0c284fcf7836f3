//! What only a statement on a database server needs: a time limit, and locks of the rows it
//! reads. SQLite needs neither.

use std::io;
use std::time::Duration;

use super::sql::{RowLocks, Sql};

/// How long a server may take for one statement. An unreachable server returns neither a
/// response nor an error.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Limits the time of a statement on a server.
pub(super) async fn with_statement_timeout<T>(
    work: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    let done = tokio::time::timeout(STATEMENT_TIMEOUT, work).await;
    done.unwrap_or_else(|_| Err(sqlx::Error::Io(io::ErrorKind::TimedOut.into())))
}

pub(super) fn with_row_locks(sql: Sql) -> Sql {
    match sql.row_locks {
        RowLocks::None => sql,
        RowLocks::Wait => sql.push(" FOR UPDATE"),
        RowLocks::Skip => sql.push(" FOR UPDATE SKIP LOCKED"),
    }
}
