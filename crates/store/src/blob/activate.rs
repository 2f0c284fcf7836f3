//! Makes staged content ready, in the transaction that references it.
//!
//! Rows are locked and written in order of their digests, so that uploads with shared
//! content wait for one another without a deadlock.

use std::collections::HashSet;

use super::{StagedBlob, StagedBody};
use crate::db::{Sql, SqlValue, Tx};
use crate::error::Result;
use crate::id::{self, IdPrefix};
use crate::time::Timestamp;

/// Rows per statement, far below the limit of either database.
const BATCH_ROWS: usize = 200;

/// The outcome of [`activate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum ActivationOutcome {
    /// All of it may be referenced.
    Activated,
    /// Some was collected since it was staged: roll back and stage again.
    Collected,
}

/// Makes all of `staged`, sorted by digest, ready. The caller's transaction must also
/// write the references to it.
pub(crate) async fn activate(
    tx: &mut Tx,
    staged: &[StagedBlob],
    now: Timestamp,
) -> Result<ActivationOutcome> {
    if !delete_pending(tx, staged).await? {
        return Ok(ActivationOutcome::Collected);
    }
    for batch in staged.chunks(BATCH_ROWS) {
        if activate_batch(tx, batch, now).await? == ActivationOutcome::Collected {
            return Ok(ActivationOutcome::Collected);
        }
    }
    Ok(ActivationOutcome::Activated)
}

/// Whether contents can be made ready by [`push_activation`]: all of them are in memory, and few.
pub(crate) fn are_small(staged: &[StagedBlob]) -> bool {
    let is_inline = |staged: &StagedBlob| matches!(staged.body, StagedBody::Inline(_));
    staged.len() <= BATCH_ROWS && staged.iter().all(is_inline)
}

/// Appends the statement that makes such contents, sorted by digest, ready. It cannot find that
/// one was collected: each brings its data along.
pub(crate) fn push_activation(sql: Sql, staged: &[StagedBlob], now: Timestamp) -> Result<Sql> {
    let mut rows = Vec::with_capacity(staged.len());
    for staged in staged {
        rows.push(staged.row(&id::new_id(IdPrefix::Blob, now)?, now));
    }
    Ok(sql
        .push(INSERT_READY)
        .push_rows(rows)
        .push(ON_CONFLICT_TOUCH))
}

/// Deletes the pending rows of written content. Returns false if some are missing.
async fn delete_pending(tx: &mut Tx, staged: &[StagedBlob]) -> Result<bool> {
    let places: Vec<_> = staged
        .iter()
        .filter_map(StagedBlob::written_place)
        .collect();
    for batch in places.chunks(BATCH_ROWS) {
        let sql = Sql::new("DELETE FROM blobs WHERE state = 'pending' AND place IN ");
        let deleted = tx.execute(sql.push_list(batch.iter().copied())).await?;
        if deleted != batch.len() as u64 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// One statement, which processes its rows in order: content that is ready is touched,
/// the rest becomes ready.
async fn activate_batch(
    tx: &mut Tx,
    batch: &[StagedBlob],
    now: Timestamp,
) -> Result<ActivationOutcome> {
    let mut places = Vec::new();
    let mut rows = Vec::new();
    for staged in batch {
        let place = match staged.written_place() {
            Some(place) => place.to_owned(),
            None => id::new_id(IdPrefix::Blob, now)?,
        };
        rows.push(staged.row(&place, now));
        places.push(place);
    }
    let sql = Sql::new(INSERT_READY).push_rows(rows);
    let returned = tx.fetch_all(sql.push(ON_CONFLICT_TOUCH)).await?;
    let returned = returned.iter().map(|row| row.text("place"));
    let inserted = returned.collect::<Result<HashSet<_>>>()?;
    for (staged, place) in batch.iter().zip(&places) {
        match (&staged.body, inserted.contains(place)) {
            // It was stored when it was staged, so its data was not sent; now its row has
            // no content.
            (StagedBody::Known, true) => return Ok(ActivationOutcome::Collected),
            // Another upload stored the same content; this copy is not needed.
            (StagedBody::Written(_), false) => insert_doomed(tx, place, now).await?,
            _ => {}
        }
    }
    Ok(ActivationOutcome::Activated)
}

const INSERT_READY: &str =
    "INSERT INTO blobs (place, state, digest, size, touched_at, data) VALUES ";

const ON_CONFLICT_TOUCH: &str = "
    ON CONFLICT (digest) WHERE state = 'ready'
    DO UPDATE SET touched_at = CASE WHEN blobs.touched_at >= excluded.touched_at
                                    THEN blobs.touched_at + 1 ELSE excluded.touched_at END
    RETURNING place";

impl StagedBlob {
    pub(super) fn written_place(&self) -> Option<&str> {
        match &self.body {
            StagedBody::Written(place) => Some(place),
            _ => None,
        }
    }

    /// Whether it was stored before, and needs no space.
    pub(super) fn is_known(&self) -> bool {
        matches!(self.body, StagedBody::Known)
    }

    /// Bytes that are in memory until it is activated.
    pub(crate) fn inline_len(&self) -> usize {
        match &self.body {
            StagedBody::Inline(data) => data.len(),
            _ => 0,
        }
    }

    fn row(&self, place: &str, now: Timestamp) -> Vec<SqlValue> {
        let data = match &self.body {
            StagedBody::Inline(data) => Some(data.to_vec()),
            _ => None,
        };
        vec![
            place.into(),
            "ready".into(),
            self.digest.to_string().into(),
            self.size.into(),
            now.into(),
            SqlValue::Bytes(data),
        ]
    }
}

async fn insert_doomed(tx: &mut Tx, place: &str, now: Timestamp) -> Result<()> {
    let sql =
        Sql::new("INSERT INTO blobs (place, state, size, touched_at) VALUES ($1, 'doomed', 0, $2)");
    tx.execute(sql.bind(place).bind(now)).await.map(drop)
}

/// Touches the content of a version about to be deleted, so that readers have the whole
/// grace period to finish.
pub(crate) async fn touch_version_blobs(tx: &mut Tx, version: &str, now: Timestamp) -> Result<()> {
    let sql = Sql::new("SELECT digest FROM version_blobs WHERE version = $1 ORDER BY digest");
    let rows = tx.fetch_all(sql.bind(version)).await?;
    let digests = rows.iter().map(|row| row.text("digest"));
    let digests = digests.collect::<Result<Vec<_>>>()?;
    for batch in digests.chunks(BATCH_ROWS) {
        touch_blobs(tx, batch, now).await?;
    }
    Ok(())
}

/// Touches those of `digests` that are ready.
pub(crate) async fn touch_blobs(tx: &mut Tx, digests: &[String], now: Timestamp) -> Result<()> {
    if digests.is_empty() {
        return Ok(());
    }
    let sql = Sql::new("SELECT digest FROM blobs WHERE state = 'ready' AND digest IN ");
    let sql = sql.push_list(digests).push(" ORDER BY digest").for_update();
    let rows = tx.fetch_all(sql).await?;
    let ready = rows.iter().map(|row| row.text("digest"));
    let ready = ready.collect::<Result<Vec<_>>>()?;
    if !ready.is_empty() {
        let sql = Sql::new(
            "UPDATE blobs
             SET touched_at = CASE WHEN touched_at >= $1 THEN touched_at + 1 ELSE $1 END
             WHERE state = 'ready' AND digest IN ",
        );
        tx.execute(sql.bind(now).push_list(ready.iter())).await?;
    }
    Ok(())
}
