//! Whether the store can be written right now, found out by writing.
//!
//! One attempt serves everybody who asks within a moment, so that asking often does
//! not load the disk.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::Store;
use crate::db::Sql;
use crate::error::{Error, Result};
use crate::time::Timestamp;

/// How long an outcome is given to others.
const FRESH_FOR: Duration = Duration::from_secs(2);
/// How long an attempt may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// The code of an attempt that took longer.
const TIMEOUT: &str = "timeout";

/// Why the store is not ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unready {
    /// What failed: `database`, `blob storage` or `file system`.
    pub part: &'static str,
    /// Stable identifier of the reason.
    pub code: &'static str,
    /// Whether the reason is that there is no room left.
    pub full: bool,
    /// What the system said. It may name paths, so it is for the operator only.
    pub cause: String,
}

type Outcome = std::result::Result<(), Unready>;

/// The last outcome, and when it was found.
#[derive(Default)]
pub(crate) struct Readiness(Mutex<Option<Found>>);

#[derive(Debug, Clone)]
struct Found {
    at: Instant,
    outcome: Outcome,
    /// Whether it took too long, whatever the outcome was said to be.
    late: bool,
}

impl Found {
    /// One attempt that takes too long says nothing yet: the database has one writer, and
    /// many may wait for it. Two in a row say that the store is not ready; and one does
    /// where it was not before. A failure is one at once.
    fn after(before: Option<&Found>, outcome: Outcome) -> Found {
        let late = matches!(&outcome, Err(unready) if unready.code == TIMEOUT);
        let was_ready = before.is_some_and(|before| before.outcome.is_ok() && !before.late);
        Found {
            at: Instant::now(),
            outcome: if late && was_ready { Ok(()) } else { outcome },
            late,
        }
    }
}

impl Store {
    /// Writes a row, and tries the blob storage.
    ///
    /// # Errors
    /// Why uploads and changes would fail right now.
    pub async fn check_ready(&self) -> std::result::Result<(), Unready> {
        let mut last = self.readiness().0.lock().await;
        if let Some(found) = &*last
            && found.at.elapsed() < FRESH_FOR
        {
            return found.outcome.clone();
        }
        let found = Found::after(last.as_ref(), self.try_all().await);
        let outcome = found.outcome.clone();
        *last = Some(found);
        outcome
    }

    async fn try_all(&self) -> Outcome {
        within("database", self.try_row()).await?;
        within("blob storage", self.blobs().probe()).await?;
        self.space()
            .check(0)
            .map_err(|error| unready("file system", &error))
    }

    async fn try_row(&self) -> Result<()> {
        let sql = Sql::new(
            "INSERT INTO readiness (id, written_at) VALUES (1, $1)
             ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at",
        );
        self.db().run(sql.bind(Timestamp::now())).await.map(drop)
    }
}

async fn within(part: &'static str, work: impl Future<Output = Result<()>>) -> Outcome {
    match tokio::time::timeout(PROBE_TIMEOUT, work).await {
        Ok(done) => done.map_err(|error| unready(part, &error)),
        Err(_) => Err(Unready {
            part,
            code: TIMEOUT,
            full: false,
            cause: format!("no answer within {} s", PROBE_TIMEOUT.as_secs()),
        }),
    }
}

fn unready(part: &'static str, error: &Error) -> Unready {
    Unready {
        part,
        code: error.code(),
        full: matches!(error, Error::Full { .. }),
        cause: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: &'static str) -> Outcome {
        Err(Unready {
            part: "database",
            code,
            full: false,
            cause: String::new(),
        })
    }

    #[test]
    fn two_late_attempts_in_a_row_are_a_failure_and_one_is_not() {
        let ready = Found::after(None, Ok(()));
        let once = Found::after(Some(&ready), failed(TIMEOUT));
        assert_eq!(once.outcome, Ok(()));
        let again = Found::after(Some(&once), Ok(()));
        let once_more = Found::after(Some(&again), failed(TIMEOUT));
        assert_eq!(once_more.outcome, Ok(()), "they were not in a row");
        let twice = Found::after(Some(&once), failed(TIMEOUT));
        assert_eq!(twice.outcome, failed(TIMEOUT));
        let thrice = Found::after(Some(&twice), failed(TIMEOUT));
        assert_eq!(thrice.outcome, failed(TIMEOUT), "it is not forgiven again");
    }

    #[test]
    fn an_error_is_a_failure_at_once_and_never_late() {
        let ready = Found::after(None, Ok(()));
        assert_eq!(
            Found::after(Some(&ready), failed("database")).outcome,
            failed("database")
        );
        let broken = Found::after(None, failed("database"));
        assert_eq!(
            Found::after(Some(&broken), failed(TIMEOUT)).outcome,
            failed(TIMEOUT)
        );
        assert_eq!(Found::after(None, failed(TIMEOUT)).outcome, failed(TIMEOUT));
        assert_eq!(Found::after(Some(&broken), Ok(())).outcome, Ok(()));
    }
}
