//! Creating a batch, and adding its requests.
//!
//! Requests are added in parts, while they are read, so a batch is not visible to its
//! scheduler before [`Store::start_batch`]. Each reading has a number, its attempt: one that
//! another server has begun since then makes the earlier one end.

use std::time::Duration;

use crate::Store;
use crate::db::{Sql, SqlValue, Tx};
use crate::error::{Error, Result};
use crate::id;
use crate::quota;
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::record::{BatchKind, BatchRecord, BatchState};

/// Items per statement, far below the limit of either database.
const INSERT_ROWS: usize = 200;
/// Items deleted per statement.
pub(super) const DELETE_ROWS: i64 = 1_000;

/// A batch to be created.
#[derive(Debug, Clone, Copy)]
pub struct NewBatch<'a> {
    /// Its kind.
    pub kind: BatchKind,
    /// The dialect of its requests.
    pub dialect: &'a str,
    /// The id of the key that the request was authenticated with; `None` for the operator.
    pub api_key: Option<&'a str>,
    /// The client's metadata, as JSON. A Message Batch gets that of the server once its requests are
    /// received: [`Store::set_received_metadata`].
    pub metadata: &'a str,
    /// The file with the requests.
    pub input_file: Option<&'a str>,
    /// How long its results are stored after its end.
    pub output_lifetime: Duration,
    /// How long its requests have to end.
    pub expires_in: Duration,
}

/// How much of batches a tenant may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// Batches that have not ended.
    pub open: u64,
    /// Bytes of requests and results of all batches.
    pub stored_bytes: u64,
}

/// A request of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBatchItem {
    /// Its number in the batch.
    pub seq: i64,
    /// The client's name for it.
    pub custom_id: String,
    /// The request.
    pub body: Vec<u8>,
}

/// A request whose name another request of the batch has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateItem {
    /// Its number.
    pub seq: i64,
    /// The name.
    pub custom_id: String,
}

/// What became of [`Store::add_batch_items`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddItemsOutcome {
    /// They were added.
    Added,
    /// All but these were added.
    Duplicates(Vec<DuplicateItem>),
    /// None was added: the batch was cancelled or deleted, or another server reads its
    /// requests.
    Lost,
}

impl Store {
    /// Creates a batch without requests. One of a file is visible at once, as validating; its
    /// requests are added in an attempt of [`Store::begin_batch_validation`]. One of messages
    /// is visible after [`Store::start_batch`]; its only attempt is 0.
    ///
    /// # Errors
    /// When the tenant has too many batches, or the store cannot be written.
    pub async fn create_batch(
        &self,
        tenant: &TenantId,
        new: &NewBatch<'_>,
        limits: &BatchLimits,
    ) -> Result<BatchRecord> {
        let now = Timestamp::now();
        let id = id::new_id(new.kind.id_prefix(), now)?;
        self.disk_space().check(0)?;
        let mut tx = self.db().begin().await?;
        // Batches that the tenant creates at the same moment are counted one after the other.
        quota::lock_totals(&mut tx, tenant).await?;
        let record = insert_batch(&mut tx, tenant, new, limits, (id, now)).await?;
        tx.commit().await?;
        Ok(record)
    }

    /// Begins to read the requests of a validating batch from the start: removes those that an
    /// earlier attempt has added, and returns the number of this attempt. `None` when the
    /// batch is no longer validating.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn begin_batch_validation(&self, batch: &str) -> Result<Option<i64>> {
        let mut tx = self.db().begin().await?;
        let sql = Sql::new("UPDATE batches SET attempt = attempt + 1, bytes = 0 WHERE id = ")
            .push_bind("", batch)
            .push(" AND state = 'validating' RETURNING attempt");
        let row = tx.fetch_optional(sql).await?;
        tx.commit().await?;
        let Some(row) = row else {
            return Ok(None);
        };
        let attempt = row.int("attempt")?;
        self.drop_items_before(batch, attempt).await?;
        Ok(Some(attempt))
    }

    /// Removes what was read before an attempt, in parts. Each checks that it is still the last
    /// one: a server that stood still meanwhile must not remove what another has read.
    async fn drop_items_before(&self, batch: &str, attempt: i64) -> Result<()> {
        loop {
            let sql = Sql::new(
                "DELETE FROM batch_items WHERE batch = $1 AND seq IN (
                     SELECT seq FROM batch_items WHERE batch = $1 ORDER BY seq LIMIT $2)
                   AND EXISTS (SELECT 1 FROM batches b
                               WHERE b.id = $1 AND b.attempt = $3 AND b.state = 'validating')",
            );
            let sql = sql.bind(batch).bind(DELETE_ROWS).bind(attempt);
            if self.db().execute(sql).await? < DELETE_ROWS.unsigned_abs() {
                return Ok(());
            }
        }
    }

    /// Refuses more requests of a batch while the tenant's other batches have as many bytes as all
    /// may have. A batch is created before its requests are read, so several that are created at
    /// the same moment are empty then.
    ///
    /// # Errors
    /// When they have, or the store cannot be read.
    pub async fn check_batch_bytes(
        &self,
        tenant: &TenantId,
        batch: &str,
        limits: &BatchLimits,
    ) -> Result<()> {
        let sql = Sql::new(
            "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM batches WHERE tenant = ",
        );
        let sql = sql.push_bind("", tenant.as_str());
        let row = self
            .db()
            .fetch_optional(sql.push_bind(" AND id <> ", batch))
            .await?;
        let used = row.map_or(Ok(0), |row| row.int("bytes"))?;
        check_stored_bytes(u64::try_from(used).unwrap_or_default(), limits)
    }

    /// Adds requests.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn add_batch_items(
        &self,
        tenant: &TenantId,
        batch: &str,
        attempt: i64,
        items: Vec<NewBatchItem>,
    ) -> Result<AddItemsOutcome> {
        let bytes: usize = items.iter().map(|item| item.body.len()).sum();
        self.disk_space().check(bytes as u64)?;
        let mut tx = self.db().begin().await?;
        let sql = Sql::new("UPDATE batches SET bytes = bytes + ")
            .push_bind("", i64::try_from(bytes).unwrap_or(i64::MAX))
            .push_bind(" WHERE tenant = ", tenant.as_str())
            .push_bind(" AND id = ", batch)
            .push_bind(" AND attempt = ", attempt)
            .push(" AND state IN ('receiving', 'validating')");
        if tx.execute(sql).await? == 0 {
            tx.rollback().await;
            return Ok(AddItemsOutcome::Lost);
        }
        let mut duplicates = Vec::new();
        let mut rest = items.into_iter().peekable();
        while rest.peek().is_some() {
            let part: Vec<_> = rest.by_ref().take(INSERT_ROWS).collect();
            duplicates.extend(insert_items(&mut tx, tenant, batch, part).await?);
        }
        tx.commit().await?;
        Ok(match duplicates.is_empty() {
            true => AddItemsOutcome::Added,
            false => AddItemsOutcome::Duplicates(duplicates),
        })
    }

    /// Sets the metadata of a Message Batch whose requests are being received.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn set_received_metadata(
        &self,
        tenant: &TenantId,
        batch: &str,
        metadata: &str,
    ) -> Result<()> {
        let sql = Sql::new("UPDATE batches SET metadata = ")
            .push_bind("", metadata)
            .push_bind(" WHERE tenant = ", tenant.as_str())
            .push_bind(" AND id = ", batch)
            .push(" AND state = 'receiving'");
        self.db().execute(sql).await.map(drop)
    }

    /// Lets a batch run whose requests are complete. `None` when it was cancelled or deleted,
    /// or another server reads its requests.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn start_batch(
        &self,
        tenant: &TenantId,
        batch: &str,
        attempt: i64,
    ) -> Result<Option<BatchRecord>> {
        let mut tx = self.db().begin().await?;
        let sql = Sql::new("UPDATE batches SET state = 'in_progress', started_at = ")
            .push_bind("", Timestamp::now())
            .push(", total = (SELECT COUNT(*) FROM batch_items i WHERE i.batch = batches.id)")
            .push_bind(" WHERE tenant = ", tenant.as_str())
            .push_bind(" AND id = ", batch)
            .push_bind(" AND attempt = ", attempt)
            .push(" AND state IN ('receiving', 'validating')");
        let row = tx.fetch_optional(BatchRecord::returning(sql)).await?;
        tx.commit().await?;
        row.as_ref().map(BatchRecord::from_row).transpose()
    }

    /// Ends a batch whose file of requests is not valid. Returns whether it was still
    /// validating.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn fail_batch(&self, batch: &str, attempt: i64, errors: &str) -> Result<bool> {
        let now = Timestamp::now();
        let sql = Sql::new("UPDATE batches SET state = 'failed', bytes = 0, errors = ")
            .push_bind("", errors)
            .push_bind(", ended_at = ", now)
            .push_bind(" WHERE id = ", batch)
            .push_bind(" AND attempt = ", attempt)
            .push(" AND state = 'validating'");
        let failed = self.db().execute(sql).await? == 1;
        if failed {
            self.drop_batch_items(batch).await?;
        }
        Ok(failed)
    }

    /// Deletes a batch whose requests were not received completely.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn discard_batch(&self, tenant: &TenantId, batch: &str) -> Result<()> {
        let sql = Sql::new("UPDATE batches SET attempt = attempt + 1 WHERE tenant = ")
            .push_bind("", tenant.as_str())
            .push_bind(" AND id = ", batch)
            .push(" AND state = 'receiving'");
        if self.db().execute(sql).await? == 1 {
            self.drop_batch(batch).await?;
        }
        Ok(())
    }
}

/// Creates a batch, in a transaction that has locked the tenant's totals.
pub(super) async fn insert_batch(
    tx: &mut Tx,
    tenant: &TenantId,
    new: &NewBatch<'_>,
    limits: &BatchLimits,
    (id, now): (String, Timestamp),
) -> Result<BatchRecord> {
    let state = match new.kind {
        BatchKind::Messages => BatchState::Receiving,
        BatchKind::File => BatchState::Validating,
    };
    let lifetime = i64::try_from(new.output_lifetime.as_micros()).unwrap_or(i64::MAX);
    let row: Vec<SqlValue> = vec![
        id.into(),
        tenant.as_str().into(),
        new.kind.as_str().into(),
        new.dialect.into(),
        new.api_key.into(),
        state.as_str().into(),
        0.into(),
        new.metadata.into(),
        new.input_file.into(),
        lifetime.into(),
        now.into(),
        now.after(new.expires_in).into(),
        0.into(),
        0.into(),
        0.into(),
        0.into(),
        0.into(),
        0.into(),
    ];
    check_limits(tx, tenant, limits).await?;
    let sql = Sql::new(
        "INSERT INTO batches (id, tenant, kind, dialect, api_key, state, attempt, metadata,
            input_file, output_lifetime, created_at, expires_at, bytes, total, succeeded,
            errored, cancelled, expired) VALUES ",
    );
    let sql = BatchRecord::returning(sql.push_rows([row]));
    let inserted = tenant.map_unknown_tenant(tx.fetch_optional(sql).await)?;
    BatchRecord::from_row(&inserted.ok_or(Error::Busy)?)
}

async fn check_limits(tx: &mut Tx, tenant: &TenantId, limits: &BatchLimits) -> Result<()> {
    let sql = Sql::new(
        "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes,
                CAST(COUNT(*) - COUNT(ended_at) AS BIGINT) AS open FROM batches WHERE tenant = ",
    );
    let row = tx
        .fetch_optional(sql.push_bind("", tenant.as_str()))
        .await?;
    let row = row.ok_or(Error::Busy)?;
    let count = |column| -> Result<u64> { Ok(u64::try_from(row.int(column)?).unwrap_or_default()) };
    if count("open")? >= limits.open {
        return Err(Error::TooManyBatches { limit: limits.open });
    }
    check_stored_bytes(count("bytes")?, limits)
}

fn check_stored_bytes(used: u64, limits: &BatchLimits) -> Result<()> {
    if used < limits.stored_bytes {
        return Ok(());
    }
    Err(Error::QuotaExceeded {
        what: "bytes of batches",
        limit: limits.stored_bytes,
        used,
        more: 1,
    })
}

/// Inserts items; returns those whose name was taken.
async fn insert_items(
    tx: &mut Tx,
    tenant: &TenantId,
    batch: &str,
    items: Vec<NewBatchItem>,
) -> Result<Vec<DuplicateItem>> {
    let names: Vec<_> = items
        .iter()
        .map(|item| (item.seq, item.custom_id.clone()))
        .collect();
    let row = |item: NewBatchItem| -> Vec<SqlValue> {
        vec![
            batch.into(),
            item.seq.into(),
            tenant.as_str().into(),
            item.custom_id.into(),
            "pending".into(),
            item.body.into(),
        ]
    };
    let sql =
        Sql::new("INSERT INTO batch_items (batch, seq, tenant, custom_id, state, body) VALUES ");
    let sql = sql
        .push_rows(items.into_iter().map(row))
        .push(" ON CONFLICT (batch, custom_id) DO NOTHING RETURNING seq");
    let inserted = tx.fetch_all(sql).await?;
    if inserted.len() == names.len() {
        return Ok(Vec::new());
    }
    let inserted = inserted.iter().map(|row| row.int("seq"));
    let inserted = inserted.collect::<Result<std::collections::HashSet<_>>>()?;
    let refused = names.into_iter().filter(|(seq, _)| !inserted.contains(seq));
    Ok(refused
        .map(|(seq, custom_id)| DuplicateItem { seq, custom_id })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreConfig;

    #[tokio::test]
    async fn a_server_that_comes_back_removes_nothing_that_another_one_has_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path()))
            .await
            .unwrap();
        let tenant = TenantId::default_tenant();
        let day = Duration::from_secs(24 * 3600);
        let new = NewBatch {
            kind: BatchKind::File,
            dialect: "chat",
            api_key: None,
            metadata: "{}",
            input_file: None,
            output_lifetime: day,
            expires_in: day,
        };
        let limits = BatchLimits {
            open: 1,
            stored_bytes: 1 << 20,
        };
        let batch = store.create_batch(&tenant, &new, &limits).await.unwrap().id;
        let begin = async || store.begin_batch_validation(&batch).await.unwrap().unwrap();
        // It stood still before it removed what was read before its own attempt.
        let (first, second) = (begin().await, begin().await);
        let items = (0..2).map(|seq| NewBatchItem {
            seq,
            custom_id: format!("r{seq}"),
            body: b"{}".to_vec(),
        });
        let added = store.add_batch_items(&tenant, &batch, second, items.collect());
        assert_eq!(added.await.unwrap(), AddItemsOutcome::Added);
        store.drop_items_before(&batch, first).await.unwrap();
        let started = store.start_batch(&tenant, &batch, second).await.unwrap();
        assert_eq!(started.unwrap().counts.total, 2);
    }
}
