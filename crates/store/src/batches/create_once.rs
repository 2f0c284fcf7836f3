//! Creating a batch once, however often its client sends the request.
//!
//! The random digits of the batch's id are made of the client's idempotency key, so a batch is
//! found by them, and ids still sort by time.

use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::{Error, Result};
use crate::id;
use crate::quota;
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::create::{BatchLimits, NewBatch, insert_batch};
use super::record::{BatchKind, BatchRecord, BatchState};

/// What became of [`Store::create_batch_once`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateBatchOutcome {
    /// It was created.
    Created(Box<BatchRecord>),
    /// It was created by an earlier request with the same key.
    Existing(Box<BatchRecord>),
}

impl Store {
    /// Like [`Store::create_batch`], unless the tenant has a batch of this kind with the same
    /// idempotency key. One whose requests are still being received is discarded: its client
    /// sends it again.
    ///
    /// # Errors
    /// When the tenant has too many batches, or the store cannot be written.
    pub async fn create_batch_once(
        &self,
        tenant: &TenantId,
        new: &NewBatch<'_>,
        limits: &BatchLimits,
        idempotency_key: &str,
    ) -> Result<CreateBatchOutcome> {
        let digits = id_digits(tenant, idempotency_key);
        self.disk_space().check(0)?;
        let mut tx = self.db().begin().await?;
        // Two requests of the tenant at the same moment find one batch.
        quota::lock_totals(&mut tx, tenant).await?;
        if let Some(found) = find(&mut tx, tenant, new.kind, &digits).await? {
            tx.rollback().await;
            if found.state != BatchState::Receiving {
                return Ok(CreateBatchOutcome::Existing(Box::new(found)));
            }
            self.discard_batch(tenant, &found.id).await?;
            tx = self.db().begin().await?;
            quota::lock_totals(&mut tx, tenant).await?;
            if find(&mut tx, tenant, new.kind, &digits).await?.is_some() {
                // A third request was faster.
                tx.rollback().await;
                return Err(Error::Busy);
            }
        }
        let now = Timestamp::now();
        let id = id::new_named_id(new.kind.id_prefix(), now, &digits);
        let created = insert_batch(&mut tx, tenant, new, limits, (id, now)).await?;
        tx.commit().await?;
        Ok(CreateBatchOutcome::Created(Box::new(created)))
    }

    /// The batch of this kind that an earlier request of the tenant with this idempotency key has
    /// created, unless its requests are still being received.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn find_created_batch(
        &self,
        tenant: &TenantId,
        kind: BatchKind,
        idempotency_key: &str,
    ) -> Result<Option<BatchRecord>> {
        let sql = select_by_digits(tenant, kind, &id_digits(tenant, idempotency_key));
        let row = self.db().fetch_optional(sql).await?;
        let found = row.as_ref().map(BatchRecord::from_row).transpose()?;
        Ok(found.filter(|batch| batch.state != BatchState::Receiving))
    }
}

/// The random digits of a batch's id. Ids are unique over all tenants.
fn id_digits(tenant: &TenantId, idempotency_key: &str) -> String {
    id::name_digits(&format!("{tenant}\n{idempotency_key}"))
}

async fn find(
    tx: &mut Tx,
    tenant: &TenantId,
    kind: BatchKind,
    digits: &str,
) -> Result<Option<BatchRecord>> {
    let sql = select_by_digits(tenant, kind, digits);
    let row = tx.fetch_optional(sql).await?;
    row.as_ref().map(BatchRecord::from_row).transpose()
}

fn select_by_digits(tenant: &TenantId, kind: BatchKind, digits: &str) -> Sql {
    BatchRecord::select()
        .push_bind(" WHERE tenant = ", tenant.as_str())
        .push_bind(" AND kind = ", kind.as_str())
        .push_bind(" AND id LIKE ", format!("%{digits}"))
}
