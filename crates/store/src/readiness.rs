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

/// The last outcome, and when it was found.
#[derive(Default)]
pub(crate) struct Readiness(Mutex<Option<(Instant, std::result::Result<(), Unready>)>>);

impl Store {
    /// Writes a row, and tries the blob storage.
    ///
    /// # Errors
    /// Why uploads and changes would fail right now.
    pub async fn check_ready(&self) -> std::result::Result<(), Unready> {
        let mut last = self.readiness().0.lock().await;
        if let Some((at, outcome)) = &*last
            && at.elapsed() < FRESH_FOR
        {
            return outcome.clone();
        }
        let outcome = self.try_all().await;
        *last = Some((Instant::now(), outcome.clone()));
        outcome
    }

    async fn try_all(&self) -> std::result::Result<(), Unready> {
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

async fn within(
    part: &'static str,
    work: impl Future<Output = Result<()>>,
) -> std::result::Result<(), Unready> {
    match tokio::time::timeout(PROBE_TIMEOUT, work).await {
        Ok(done) => done.map_err(|error| unready(part, &error)),
        Err(_) => Err(Unready {
            part,
            code: "timeout",
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
