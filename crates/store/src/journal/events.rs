//! What a run has sent to its client, so that a client that reconnects misses nothing.
//!
//! Events are numbered from 0 without gaps and stored in chunks. A listener gets an event
//! once it is stored, so nobody has ever seen a number that a later owner uses again.

use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::{Error, Result};
use crate::tenant::TenantId;

use super::append_outcome::AppendOutcome;
use super::lease::RunLease;

/// Chunks read at once.
const MAX_CHUNKS: i64 = 64;

/// Consecutive events to be stored.
#[derive(Debug, Clone, Copy)]
pub struct NewEventChunk<'a> {
    /// The number of the first event.
    pub first_seq: i64,
    /// The number of the last event.
    pub last_seq: i64,
    /// The events, which the store does not interpret.
    pub body: &'a str,
}

/// Consecutive events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventChunk {
    /// The number of the first event.
    pub first_seq: i64,
    /// The number of the last event.
    pub last_seq: i64,
    /// The events, as stored.
    pub body: String,
}

impl EventChunk {
    pub(super) fn as_new(&self) -> NewEventChunk<'_> {
        NewEventChunk {
            first_seq: self.first_seq,
            last_seq: self.last_seq,
            body: &self.body,
        }
    }
}

impl Store {
    /// Stores events of a run that this lease still owns.
    ///
    /// # Errors
    /// When the numbers are not consecutive, or the store cannot be written.
    pub async fn append_events(
        &self,
        lease: &RunLease,
        chunk: &NewEventChunk<'_>,
    ) -> Result<AppendOutcome> {
        let mut tx = self.db().begin().await?;
        // Locked, so that no other server can claim the run and read its events until these
        // are stored.
        let sql = Sql::new("SELECT id FROM journal_runs WHERE id = ")
            .push_bind("", &lease.run)
            .push_bind(" AND epoch = ", lease.epoch)
            .push(" AND state = 'running'")
            .for_update();
        if tx.fetch_optional(sql).await?.is_none() {
            tx.rollback().await;
            return Ok(AppendOutcome::Lost);
        }
        insert_events(&mut tx, &lease.run, chunk).await?;
        tx.commit().await?;
        Ok(AppendOutcome::Committed)
    }

    /// The number of the last stored event of a run; -1 if there is none.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn last_event(&self, run: &str) -> Result<i64> {
        let row = self.db().fetch_optional(last_event(run)).await?;
        row.map_or(Ok(-1), |row| row.int("last"))
    }

    /// The next chunks with events after number `after` (-1 for all) of a run of the tenant.
    /// There may be more.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn event_chunks(
        &self,
        tenant: &TenantId,
        run: &str,
        after: i64,
    ) -> Result<Vec<EventChunk>> {
        let sql = Sql::new(
            "SELECT e.first_seq, e.last_seq, e.body FROM journal_events e
             JOIN journal_runs r ON r.id = e.run
             WHERE r.tenant = $1 AND e.run = $2 AND e.last_seq > $3
             ORDER BY e.first_seq LIMIT $4",
        );
        let sql = sql.bind(tenant.as_str()).bind(run).bind(after);
        let rows = self.db().fetch_all(sql.bind(MAX_CHUNKS)).await?;
        let read = |row: &crate::db::DbRow| {
            Ok(EventChunk {
                first_seq: row.int("first_seq")?,
                last_seq: row.int("last_seq")?,
                body: row.text("body")?,
            })
        };
        rows.iter().map(read).collect()
    }
}

fn last_event(run: &str) -> Sql {
    Sql::new("SELECT COALESCE(MAX(last_seq), -1) AS last FROM journal_events")
        .push_bind(" WHERE run = ", run)
}

/// Stores events in a transaction that has locked the row of the run.
pub(super) async fn insert_events(tx: &mut Tx, run: &str, chunk: &NewEventChunk<'_>) -> Result<()> {
    let last = tx.fetch_optional(last_event(run)).await?;
    let last = last.map_or(Ok(-1), |row| row.int("last"))?;
    if chunk.first_seq != last + 1 || chunk.last_seq < chunk.first_seq {
        return Err(Error::Invalid {
            field: "events",
            reason: format!(
                "{} to {} do not follow {last}",
                chunk.first_seq, chunk.last_seq
            ),
        });
    }
    let row = vec![
        run.into(),
        chunk.first_seq.into(),
        chunk.last_seq.into(),
        chunk.body.into(),
    ];
    let sql = Sql::new("INSERT INTO journal_events (run, first_seq, last_seq, body) VALUES ");
    tx.execute(sql.push_rows([row])).await.map(drop)
}
