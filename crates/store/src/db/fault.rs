//! Failures of the database: whether the connection can be reused, and whether the reason
//! is a lack of space.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use sqlx::{Connection, SqliteConnection};

use crate::disk_space;
use crate::error::Error;

/// SQLite's primary result codes after which a connection is still usable.
const HARMLESS_CODES: [i32; 7] = [
    1, // ERROR: the statement is wrong
    SQLITE_BUSY,
    6,  // LOCKED
    17, // SCHEMA
    18, // TOOBIG
    19, // CONSTRAINT
    20, // MISMATCH
];
const SQLITE_BUSY: i32 = 5;
const SQLITE_IOERR: i32 = 10;
const SQLITE_FULL: i32 = 13;

/// PostgreSQL's `disk_full`, and `io_error`, which may be one.
const POSTGRES_DISK_FULL: &str = "53100";
const POSTGRES_IO_ERROR: &str = "58030";

/// PostgreSQL's codes, or the beginnings of them, of failures that pass.
const POSTGRES_OUTAGES: [&str; 6] = [
    "08",    // the connection, also of a connection pooler
    "57P",   // the server stops, starts, or ends the connection
    "53300", // too many connections
    "25006", // a server that is read-only until it is the primary one
    "40001", // a conflict of transactions
    "40P01", // a deadlock
];

/// State of the SQLite connections that their driver does not track.
///
/// After some failures (no space, an I/O error, no memory) SQLite rolls back a
/// transaction by itself, while the driver still counts it as open. Such a connection
/// must never be used again: see [`SqliteFaults::can_reuse`].
pub(crate) struct SqliteFaults {
    /// The folder of the database, to check whether it has space.
    folder: PathBuf,
    /// The writing connection must be closed when it returns to its pool. There is only
    /// one, so a flag is enough.
    suspect: AtomicBool,
}

impl SqliteFaults {
    pub(super) fn new(folder: PathBuf) -> Self {
        SqliteFaults {
            folder,
            suspect: AtomicBool::new(false),
        }
    }

    /// Handles the failure of a statement on the writing connection, which is still in
    /// use.
    pub(super) async fn on_writer_error(&self, error: sqlx::Error) -> Error {
        if is_suspect(&error) {
            self.suspect.store(true, Ordering::Release);
        }
        self.explain(error).await
    }

    /// The failure as returned to callers.
    pub(super) async fn explain(&self, error: sqlx::Error) -> Error {
        // An exhausted quota, or no space for the shared memory file.
        let maybe_full = sqlite_code(&error) == Some(SQLITE_IOERR);
        if maybe_full && disk_space::is_full(self.folder.clone()).await {
            return full_error(&error);
        }
        error.into()
    }

    /// Whether the writing connection can be used for another transaction. Called when
    /// the connection returns to its pool, before anyone else gets it.
    pub(super) async fn can_reuse(&self, connection: &mut SqliteConnection) -> sqlx::Result<bool> {
        // The rollback of a dropped transaction precedes this in the queue.
        connection.ping().await?;
        let suspect = self.suspect.swap(false, Ordering::AcqRel);
        Ok(!suspect && !connection.is_in_transaction())
    }
}

/// Whether a connection may be in a state that its driver does not track.
pub(super) fn is_suspect(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(_) => {
            sqlite_code(error).is_some_and(|code| !HARMLESS_CODES.contains(&code))
        }
        sqlx::Error::Io(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::BeginFailed
        | sqlx::Error::InvalidSavePointStatement => true,
        _ => false,
    }
}

/// Whether another connection has a lock that this one did not wait for long enough.
pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    sqlite_code(error) == Some(SQLITE_BUSY)
}

impl Error {
    /// Whether the database could not be reached, broke the connection off, or was busy: nothing
    /// is wrong with the call itself, and it succeeds when the database is back.
    pub fn is_outage(&self) -> bool {
        match self {
            Error::Database(error) => is_outage(error),
            Error::Busy => true,
            _ => false,
        }
    }
}

fn is_outage(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(cause) => {
            let is_sqlite = cause
                .try_downcast_ref::<sqlx::sqlite::SqliteError>()
                .is_some();
            match cause.code().as_deref() {
                Some(_) if is_sqlite => is_busy(error),
                Some(code) => POSTGRES_OUTAGES.iter().any(|start| code.starts_with(start)),
                None => false,
            }
        }
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::BeginFailed => true,
        _ => false,
    }
}

/// A driver's failure as returned to callers, by its own error code.
impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        let full = match &error {
            sqlx::Error::Database(cause) => match cause.code().as_deref() {
                Some(POSTGRES_DISK_FULL) => true,
                Some(POSTGRES_IO_ERROR) => cause.message().contains("No space left on device"),
                _ => sqlite_code(&error) == Some(SQLITE_FULL),
            },
            _ => false,
        };
        if full {
            full_error(&error)
        } else {
            Error::Database(error)
        }
    }
}

fn full_error(error: &sqlx::Error) -> Error {
    Error::StorageFull {
        part: "database",
        cause: error.to_string(),
    }
}

/// The primary result code, if it is a failure of SQLite.
fn sqlite_code(error: &sqlx::Error) -> Option<i32> {
    let sqlx::Error::Database(cause) = error else {
        return None;
    };
    let cause = cause.try_downcast_ref::<sqlx::sqlite::SqliteError>()?;
    let code: i32 = sqlx::error::DatabaseError::code(cause)?.parse().ok()?;
    Some(code & 0xff)
}
