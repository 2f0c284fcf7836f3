//! Staged content becomes referable, in the transaction that refers to it.
//!
//! Rows are locked and written in order of their digests, so that uploads which
//! share content wait for one another and never in a circle.

use std::collections::HashSet;

use super::{Body, Staged};
use crate::db::{Sql, Tx, Value};
use crate::error::Result;
use crate::id::{self, Prefix};
use crate::time::Timestamp;

/// Rows per statement, far below what either engine takes.
const BATCH: usize = 200;

/// What came of [`adopt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Adopted {
    /// All of it may be referred to.
    All,
    /// Some was collected since it was staged: roll back, stage again.
    Gone,
}

/// Makes all of `staged`, sorted by digest, ready. The caller's transaction must
/// also write who refers to it.
pub(crate) async fn adopt(tx: &mut Tx, staged: &[Staged], now: Timestamp) -> Result<Adopted> {
    if !take_pending(tx, staged).await? {
        return Ok(Adopted::Gone);
    }
    for batch in staged.chunks(BATCH) {
        if adopt_batch(tx, batch, now).await? == Adopted::Gone {
            return Ok(Adopted::Gone);
        }
    }
    Ok(Adopted::All)
}

/// Removes the pending rows of what was written. False: some are gone.
async fn take_pending(tx: &mut Tx, staged: &[Staged]) -> Result<bool> {
    let places: Vec<_> = staged.iter().filter_map(Staged::written).collect();
    for batch in places.chunks(BATCH) {
        let sql = Sql::new("DELETE FROM blobs WHERE state = 'pending' AND place IN ");
        let taken = tx.run(sql.list(batch.iter().copied())).await?;
        if taken != batch.len() as u64 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// One statement, which meets its rows in order: content that is ready is touched,
/// the rest becomes so.
async fn adopt_batch(tx: &mut Tx, batch: &[Staged], now: Timestamp) -> Result<Adopted> {
    let mut places = Vec::new();
    let mut rows = Vec::new();
    for staged in batch {
        let place = match staged.written() {
            Some(place) => place.to_owned(),
            None => id::new(Prefix::Blob, now)?,
        };
        rows.push(staged.row(&place, now));
        places.push(place);
    }
    let sql = Sql::new("INSERT INTO blobs (place, state, digest, size, touched_at, data) VALUES ");
    let returned = tx.all(sql.rows(rows).push(OR_TOUCH)).await?;
    let returned = returned.iter().map(|row| row.text("place"));
    let inserted = returned.collect::<Result<HashSet<_>>>()?;
    for (staged, place) in batch.iter().zip(&places) {
        match (&staged.body, inserted.contains(place)) {
            // It was known, so nobody brought it along; now there is a row without content.
            (Body::Known, true) => return Ok(Adopted::Gone),
            // Ours turned out to be a second copy.
            (Body::Written(_), false) => insert_doomed(tx, place, now).await?,
            _ => {}
        }
    }
    Ok(Adopted::All)
}

const OR_TOUCH: &str = "
    ON CONFLICT (digest) WHERE state = 'ready'
    DO UPDATE SET touched_at = CASE WHEN blobs.touched_at >= excluded.touched_at
                                    THEN blobs.touched_at + 1 ELSE excluded.touched_at END
    RETURNING place";

impl Staged {
    pub(super) fn written(&self) -> Option<&str> {
        match &self.body {
            Body::Written(place) => Some(place),
            _ => None,
        }
    }

    /// Whether it was there before, and costs no room.
    pub(super) fn is_known(&self) -> bool {
        matches!(self.body, Body::Known)
    }

    fn row(&self, place: &str, now: Timestamp) -> Vec<Value> {
        let data = match &self.body {
            Body::Inline(data) => Some(data.to_vec()),
            _ => None,
        };
        vec![
            place.into(),
            "ready".into(),
            self.digest.to_string().into(),
            self.size.into(),
            now.into(),
            Value::Bytes(data),
        ]
    }
}

async fn insert_doomed(tx: &mut Tx, place: &str, now: Timestamp) -> Result<()> {
    let sql =
        Sql::new("INSERT INTO blobs (place, state, size, touched_at) VALUES ($1, 'doomed', 0, $2)");
    tx.run(sql.bind(place).bind(now)).await.map(drop)
}

/// Touches the content of a version that is about to go, so that those who are
/// reading it have the whole grace period to finish.
pub(crate) async fn touch_blobs_of_version(
    tx: &mut Tx,
    version: &str,
    now: Timestamp,
) -> Result<()> {
    let sql = Sql::new("SELECT digest FROM version_blobs WHERE version = $1 ORDER BY digest");
    let rows = tx.all(sql.bind(version)).await?;
    let digests = rows.iter().map(|row| row.text("digest"));
    let digests = digests.collect::<Result<Vec<_>>>()?;
    for batch in digests.chunks(BATCH) {
        touch(tx, batch, now).await?;
    }
    Ok(())
}

/// Touches those of `digests` that are ready.
pub(crate) async fn touch(tx: &mut Tx, digests: &[String], now: Timestamp) -> Result<()> {
    if digests.is_empty() {
        return Ok(());
    }
    let sql = Sql::new("SELECT digest FROM blobs WHERE state = 'ready' AND digest IN ");
    let sql = sql.list(digests).push(" ORDER BY digest").locking();
    let rows = tx.all(sql).await?;
    let ready = rows.iter().map(|row| row.text("digest"));
    let ready = ready.collect::<Result<Vec<_>>>()?;
    if !ready.is_empty() {
        let sql = Sql::new(
            "UPDATE blobs
             SET touched_at = CASE WHEN touched_at >= $1 THEN touched_at + 1 ELSE $1 END
             WHERE state = 'ready' AND digest IN ",
        );
        tx.run(sql.bind(now).list(ready.iter())).await?;
    }
    Ok(())
}
