//! Getting and listing batches, and reading their results.

use crate::Store;
use crate::db::Sql;
use crate::error::{Error, ResourceKind, Result};
use crate::page::{PageCursor, PageRequest, RecordPage};
use crate::skills::{ID_COLUMN, paginate};
use crate::tenant::TenantId;

use super::record::{BatchItemState, BatchKind, BatchRecord, BatchState};
use super::results::BatchResult;

impl Store {
    /// A batch.
    ///
    /// # Errors
    /// When the tenant has no such batch of this kind, or the store cannot be read.
    pub async fn batch(&self, tenant: &TenantId, kind: BatchKind, id: &str) -> Result<BatchRecord> {
        let sql = select_visible(tenant, kind).push_bind(" AND id = ", id);
        let row = self.db().fetch_optional(sql).await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Batch, id))?;
        BatchRecord::from_row(&row)
    }

    /// A page of the tenant's batches of one kind, by age.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list_batches(
        &self,
        tenant: &TenantId,
        kind: BatchKind,
        page: &PageRequest,
    ) -> Result<RecordPage<BatchRecord>> {
        let sql = paginate(select_visible(tenant, kind), &ID_COLUMN, page);
        let rows = self.db().fetch_all(sql).await?;
        let batches = rows.iter().map(BatchRecord::from_row);
        let batches = batches.collect::<Result<_>>()?;
        Ok(RecordPage::from_fetched(batches, page, |batch| {
            PageCursor::from_id(&batch.id)
        }))
    }

    /// The dialect of the requests of a batch of any tenant.
    ///
    /// # Errors
    /// When there is no such batch, or the store cannot be read.
    pub async fn batch_dialect(&self, batch: &str) -> Result<String> {
        let sql = Sql::new("SELECT dialect FROM batches WHERE id = ").push_bind("", batch);
        let row = self.db().fetch_optional(sql).await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Batch, batch))?;
        row.text("dialect")
    }

    /// The oldest batch in a state of each tenant, the oldest of all first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn oldest_batches_in_state(
        &self,
        state: BatchState,
        limit: u32,
    ) -> Result<Vec<BatchRecord>> {
        let sql = BatchRecord::select()
            .push_bind(
                " WHERE id IN (SELECT MIN(id) FROM batches WHERE ended_at IS NULL AND state = ",
                state.as_str(),
            )
            .push_bind(
                " GROUP BY tenant) ORDER BY created_at, id LIMIT ",
                i64::from(limit),
            );
        let rows = self.db().fetch_all(sql).await?;
        rows.iter().map(BatchRecord::from_row).collect()
    }

    /// Requests of a batch with their results, after a number, in their order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn batch_results(
        &self,
        tenant: &TenantId,
        batch: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<BatchResult>> {
        let sql = Sql::new(
            "SELECT seq, custom_id, state, run, status, result FROM batch_items WHERE batch = ",
        )
        .push_bind("", batch)
        .push_bind(" AND tenant = ", tenant.as_str())
        .push_bind(" AND seq > ", after)
        .push_bind(" ORDER BY seq LIMIT ", i64::from(limit));
        let rows = self.db().fetch_all(sql).await?;
        let read = |row: &crate::db::DbRow| {
            Ok(BatchResult {
                seq: row.int("seq")?,
                custom_id: row.text("custom_id")?,
                state: BatchItemState::parse(&row.text("state")?)?,
                run: row.optional_text("run")?,
                status: row.optional_int("status")?,
                body: row.optional_text("result")?,
            })
        };
        rows.iter().map(read).collect()
    }
}

fn select_visible(tenant: &TenantId, kind: BatchKind) -> Sql {
    BatchRecord::select()
        .push_bind(" WHERE tenant = ", tenant.as_str())
        .push_bind(" AND kind = ", kind.as_str())
        .push(" AND state <> 'receiving'")
}
