//! Readiness: whether the store can be written, tested by writing.
//!
//! One probe serves all requests within a short time, so that frequent checks do not load
//! the disk.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::Store;
use crate::db::Sql;
use crate::error::{Error, Result};
use crate::time::Timestamp;

/// How long a result is reused.
const PROBE_LIFETIME: Duration = Duration::from_secs(2);
/// How long a probe may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// The code of a probe that timed out.
const TIMEOUT_CODE: &str = "timeout";

/// Why the store is not ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadinessFailure {
    /// What failed: `database`, `blob storage` or `file system`.
    pub part: &'static str,
    /// Stable identifier of the reason.
    pub code: &'static str,
    /// Whether there is no space left.
    pub full: bool,
    /// The system's error. It may contain paths, so it is for the operator only.
    pub cause: String,
}

type ReadinessResult = std::result::Result<(), ReadinessFailure>;

/// The last probe.
#[derive(Default)]
pub(crate) struct ReadinessCache(Mutex<Option<ReadinessProbe>>);

#[derive(Debug, Clone)]
struct ReadinessProbe {
    at: Instant,
    outcome: ReadinessResult,
    /// Whether it timed out, whatever result was reported.
    late: bool,
}

impl ReadinessProbe {
    /// One timeout does not count yet: the database has one writer, and many may wait for
    /// it. Two timeouts in a row mean that the store is not ready, and so does one if it
    /// was not ready before. Any other failure counts immediately.
    fn after(before: Option<&ReadinessProbe>, outcome: ReadinessResult) -> ReadinessProbe {
        let late = matches!(&outcome, Err(unready) if unready.code == TIMEOUT_CODE);
        let was_ready = before.is_some_and(|before| before.outcome.is_ok() && !before.late);
        ReadinessProbe {
            at: Instant::now(),
            outcome: if late && was_ready { Ok(()) } else { outcome },
            late,
        }
    }
}

impl Store {
    /// How many connections to the database are open, and how many of them are idle.
    #[must_use]
    pub fn connections(&self) -> (usize, usize) {
        self.db().connections()
    }

    /// Writes a row, and probes the blob storage.
    ///
    /// # Errors
    /// Why uploads and changes would fail now.
    pub async fn check_ready(&self) -> std::result::Result<(), ReadinessFailure> {
        let mut last = self.readiness().0.lock().await;
        if let Some(found) = &*last
            && found.at.elapsed() < PROBE_LIFETIME
        {
            return found.outcome.clone();
        }
        let found = ReadinessProbe::after(last.as_ref(), self.probe_all().await);
        let outcome = found.outcome.clone();
        *last = Some(found);
        outcome
    }

    async fn probe_all(&self) -> ReadinessResult {
        with_probe_timeout("database", self.probe_database()).await?;
        with_probe_timeout("blob storage", self.blobs().probe()).await?;
        self.disk_space()
            .check(0)
            .map_err(|error| readiness_failure("file system", &error))
    }

    async fn probe_database(&self) -> Result<()> {
        let sql = Sql::new(
            "INSERT INTO readiness (id, written_at) VALUES (1, $1)
             ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at",
        );
        self.db()
            .execute(sql.bind(Timestamp::now()))
            .await
            .map(drop)
    }
}

async fn with_probe_timeout(
    part: &'static str,
    work: impl Future<Output = Result<()>>,
) -> ReadinessResult {
    match tokio::time::timeout(PROBE_TIMEOUT, work).await {
        Ok(done) => done.map_err(|error| readiness_failure(part, &error)),
        Err(_) => Err(ReadinessFailure {
            part,
            code: TIMEOUT_CODE,
            full: false,
            cause: format!("no response within {} s", PROBE_TIMEOUT.as_secs()),
        }),
    }
}

fn readiness_failure(part: &'static str, error: &Error) -> ReadinessFailure {
    ReadinessFailure {
        part,
        code: error.code(),
        full: matches!(error, Error::StorageFull { .. }),
        cause: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: &'static str) -> ReadinessResult {
        Err(ReadinessFailure {
            part: "database",
            code,
            full: false,
            cause: String::new(),
        })
    }

    #[test]
    fn two_late_attempts_in_a_row_are_a_failure_and_one_is_not() {
        let ready = ReadinessProbe::after(None, Ok(()));
        let once = ReadinessProbe::after(Some(&ready), failed(TIMEOUT_CODE));
        assert_eq!(once.outcome, Ok(()));
        let again = ReadinessProbe::after(Some(&once), Ok(()));
        let once_more = ReadinessProbe::after(Some(&again), failed(TIMEOUT_CODE));
        assert_eq!(once_more.outcome, Ok(()), "they were not in a row");
        let twice = ReadinessProbe::after(Some(&once), failed(TIMEOUT_CODE));
        assert_eq!(twice.outcome, failed(TIMEOUT_CODE));
        let thrice = ReadinessProbe::after(Some(&twice), failed(TIMEOUT_CODE));
        assert_eq!(
            thrice.outcome,
            failed(TIMEOUT_CODE),
            "a third timeout in a row is a failure too"
        );
    }

    #[test]
    fn an_error_is_a_failure_at_once_and_never_late() {
        let ready = ReadinessProbe::after(None, Ok(()));
        assert_eq!(
            ReadinessProbe::after(Some(&ready), failed("database")).outcome,
            failed("database")
        );
        let broken = ReadinessProbe::after(None, failed("database"));
        assert_eq!(
            ReadinessProbe::after(Some(&broken), failed(TIMEOUT_CODE)).outcome,
            failed(TIMEOUT_CODE)
        );
        assert_eq!(
            ReadinessProbe::after(None, failed(TIMEOUT_CODE)).outcome,
            failed(TIMEOUT_CODE)
        );
        assert_eq!(ReadinessProbe::after(Some(&broken), Ok(())).outcome, Ok(()));
    }
}
