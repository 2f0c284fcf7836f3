//! The files with the results of a batch, written in one transaction with its end.

use std::io;

use bytes::Bytes;
use futures_util::Stream;

use crate::Store;
use crate::blob::{ActivationOutcome, StagedBlob, activate};
use crate::db::{Sql, Tx};
use crate::error::{Error, Result};
use crate::files::{FileRecord, NewFile};
use crate::quota;
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::record::BatchRecord;

/// The files of a batch and their contents.
#[derive(Debug)]
pub struct BatchFiles<'a, S> {
    /// The responses, if there are any.
    pub output: Option<(NewFile<'a>, S)>,
    /// The errors, if there are any.
    pub errors: Option<(NewFile<'a>, S)>,
}

/// What became of [`Store::finish_batch`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishOutcome {
    /// The batch has ended.
    Finished(Box<BatchRecord>),
    /// Nothing was stored: another server has ended it, or it was deleted.
    Lost,
}

impl Store {
    /// Ends a finalizing batch with its files.
    ///
    /// # Errors
    /// When the files exceed the tenant's quota, or the store cannot be written. The batch is
    /// then still finalizing, unless its end was committed.
    pub async fn finish_batch<S>(
        &self,
        tenant: &TenantId,
        batch: &str,
        files: BatchFiles<'_, S>,
    ) -> Result<FinishOutcome>
    where
        S: Stream<Item = io::Result<Bytes>>,
    {
        let mut staged = Vec::new();
        let written = async {
            let output = self
                .stage_batch_file(tenant, files.output, &mut staged)
                .await?;
            let errors = self
                .stage_batch_file(tenant, files.errors, &mut staged)
                .await?;
            Ok((output, errors))
        };
        let (output, errors) = match written.await {
            Ok(files) => files,
            Err(error) => {
                self.blobs().discard(&staged).await;
                return Err(error);
            }
        };
        // Contents are activated in the order of their digests, as by all writers.
        staged.sort_by_key(|staged| staged.digest.to_string());
        let mut tx = match self.db().begin().await {
            Ok(tx) => tx,
            Err(error) => {
                self.blobs().discard(&staged).await;
                return Err(error);
            }
        };
        let new = [output.as_ref(), errors.as_ref()];
        let ended = match self.end_batch(&mut tx, tenant, batch, new, &staged).await {
            Ok(Some(ended)) => ended,
            Ok(None) => {
                tx.rollback().await;
                self.blobs().discard(&staged).await;
                return Ok(FinishOutcome::Lost);
            }
            Err(error) => {
                tx.rollback().await;
                self.blobs().discard(&staged).await;
                return Err(error);
            }
        };
        match tx.commit().await {
            Err(error) => {
                // Otherwise it is unknown whether it was committed, so the contents stay.
                if error.is_rolled_back() {
                    self.blobs().discard(&staged).await;
                }
                Err(error)
            }
            Ok(()) => {
                // Their results are in the files now.
                self.drop_batch_items(batch).await?;
                Ok(FinishOutcome::Finished(Box::new(ended)))
            }
        }
    }

    /// Records why the files of a finalizing batch cannot be written: for now, or for good,
    /// which ends the batch without them. Returns whether it was still finalizing.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn record_finish_error(
        &self,
        tenant: &TenantId,
        batch: &str,
        errors: &str,
        is_final: bool,
    ) -> Result<bool> {
        let mut sql = Sql::new("UPDATE batches SET errors = ").push_bind("", errors);
        if is_final {
            sql = sql.push(", state = 'failed', bytes = 0");
            sql = sql.push_bind(", ended_at = ", Timestamp::now());
        }
        let sql = sql
            .push_bind(" WHERE tenant = ", tenant.as_str())
            .push_bind(" AND id = ", batch)
            .push(" AND state = 'finalizing'");
        let recorded = self.db().execute(sql).await? == 1;
        if recorded && is_final {
            self.drop_batch_items(batch).await?;
        }
        Ok(recorded)
    }

    async fn stage_batch_file<S>(
        &self,
        tenant: &TenantId,
        file: Option<(NewFile<'_>, S)>,
        staged: &mut Vec<StagedBlob>,
    ) -> Result<Option<FileRecord>>
    where
        S: Stream<Item = io::Result<Bytes>>,
    {
        let Some((new, content)) = file else {
            return Ok(None);
        };
        let (file, content) = self.stage_new_file(tenant, &new, content).await?;
        staged.push(content);
        Ok(Some(file))
    }

    async fn end_batch(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        batch: &str,
        [output, errors]: [Option<&FileRecord>; 2],
        staged: &[StagedBlob],
    ) -> Result<Option<BatchRecord>> {
        quota::lock_totals(tx, tenant).await?;
        let id = |file: Option<&FileRecord>| file.map(|file| file.id.clone());
        let sql = Sql::new(
            "UPDATE batches SET bytes = 0, errors = NULL,
                 state = CASE WHEN expired > 0 THEN 'expired'
                              WHEN cancel_requested_at IS NOT NULL THEN 'cancelled'
                              ELSE 'completed' END, output_file = ",
        )
        .push_bind("", id(output))
        .push_bind(", error_file = ", id(errors))
        .push_bind(", ended_at = ", Timestamp::now())
        .push_bind(" WHERE tenant = ", tenant.as_str())
        .push_bind(" AND id = ", batch)
        .push(" AND state = 'finalizing'");
        let row = tx.fetch_optional(BatchRecord::returning(sql)).await?;
        let Some(row) = row else {
            return Ok(None);
        };
        let files: Vec<_> = [output, errors].into_iter().flatten().cloned().collect();
        self.insert_file_rows(tx, tenant, &files).await?;
        // One by one, as two files may have the same content.
        for staged in staged {
            match activate(tx, std::slice::from_ref(staged), Timestamp::now()).await? {
                ActivationOutcome::Activated => {}
                ActivationOutcome::Collected => return Err(Error::Busy),
            }
        }
        BatchRecord::from_row(&row).map(Some)
    }
}
