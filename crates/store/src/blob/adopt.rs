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
    let mut ready = HashSet::new();
    for batch in staged.chunks(BATCH) {
        ready.extend(touch(tx, batch.iter().map(|s| s.digest.to_string()), now).await?);
    }
    let (present, missing): (Vec<_>, Vec<_>) = staged
        .iter()
        .partition(|staged| ready.contains(&staged.digest.to_string()));
    for staged in present {
        if let Body::Written(place) = &staged.body {
            doom_pending(tx, place).await?;
        }
    }
    let inline: Vec<_> = missing
        .iter()
        .filter(|staged| matches!(staged.body, Body::Inline(_)))
        .collect();
    for batch in inline.chunks(BATCH) {
        insert_inline(tx, batch, now).await?;
    }
    for staged in missing {
        let adopted = match &staged.body {
            Body::Inline(_) => Adopted::All,
            Body::Known => Adopted::Gone,
            Body::Written(place) => adopt_written(tx, staged, place, now).await?,
        };
        if adopted == Adopted::Gone {
            return Ok(Adopted::Gone);
        }
    }
    Ok(Adopted::All)
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
        touch(tx, batch.iter().cloned(), now).await?;
    }
    Ok(())
}

/// Touches those of `digests` that are ready, and says which they are.
pub(crate) async fn touch(
    tx: &mut Tx,
    digests: impl Iterator<Item = String>,
    now: Timestamp,
) -> Result<Vec<String>> {
    let digests: Vec<_> = digests.collect();
    if digests.is_empty() {
        return Ok(Vec::new());
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
    Ok(ready)
}

/// A row of the same digest may have become ready a moment ago; then it is touched.
const OR_TOUCH: &str = "
    ON CONFLICT (digest) WHERE state = 'ready'
    DO UPDATE SET touched_at = CASE WHEN blobs.touched_at >= excluded.touched_at
                                    THEN blobs.touched_at + 1 ELSE excluded.touched_at END
    RETURNING place";
const INSERT: &str = "INSERT INTO blobs (place, state, digest, size, touched_at, data) VALUES ";

async fn insert_inline(tx: &mut Tx, batch: &[&&Staged], now: Timestamp) -> Result<()> {
    let mut rows = Vec::new();
    for staged in batch {
        if let Body::Inline(data) = &staged.body {
            let place = id::new(Prefix::Blob, now)?;
            rows.push(ready_row(place, staged, now, Some(data.to_vec())));
        }
    }
    tx.all(Sql::new(INSERT).rows(rows).push(OR_TOUCH)).await?;
    Ok(())
}

async fn adopt_written(
    tx: &mut Tx,
    staged: &Staged,
    place: &str,
    now: Timestamp,
) -> Result<Adopted> {
    let sql = Sql::new("DELETE FROM blobs WHERE place = $1 AND state = 'pending'");
    if tx.run(sql.bind(place)).await? == 0 {
        return Ok(Adopted::Gone);
    }
    let row = ready_row(place.to_owned(), staged, now, None);
    let sql = Sql::new(INSERT).rows([row]).push(OR_TOUCH);
    let taken = tx.one(sql).await?;
    let taken = taken.map(|row| row.text("place")).transpose()?;
    if taken.as_deref() != Some(place) {
        doomed_row(tx, place, now).await?;
    }
    Ok(Adopted::All)
}

fn ready_row(place: String, staged: &Staged, now: Timestamp, data: Option<Vec<u8>>) -> Vec<Value> {
    vec![
        place.into(),
        "ready".into(),
        staged.digest.to_string().into(),
        staged.size.into(),
        now.into(),
        Value::Bytes(data),
    ]
}

/// Our object turned out to be a second copy.
async fn doomed_row(tx: &mut Tx, place: &str, now: Timestamp) -> Result<()> {
    let sql =
        Sql::new("INSERT INTO blobs (place, state, size, touched_at) VALUES ($1, 'doomed', 0, $2)");
    tx.run(sql.bind(place).bind(now)).await.map(drop)
}

async fn doom_pending(tx: &mut Tx, place: &str) -> Result<()> {
    let sql = Sql::new("UPDATE blobs SET state = 'doomed' WHERE place = $1 AND state = 'pending'");
    tx.run(sql.bind(place)).await.map(drop)
}
