//! Finished steps, each committed with everything it produced.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use prowess_skill::Digest;

use crate::Store;
use crate::blob::{ActivationOutcome, StagedBlob, activate};
use crate::containers::ContainerRecord;
use crate::db::{Sql, Tx};
use crate::error::{Error, Result};
use crate::files::{FileRecord, NewFile};
use crate::quota::{self, StorageUsage};
use crate::tenant::TenantId;
use crate::time::Timestamp;
use crate::usage::{UsageRow, insert_usage};

use super::append_outcome::AppendOutcome;
use super::container_files::{ContainerChange, commit_container};
use super::container_hold::insert_held_container;
use super::events::{EventChunk, insert_events};
use super::lease::{RunLease, micros};
use super::read::StepKind;
use super::staged_content::StagedContent;

/// Bytes of one step.
const MAX_STEP_BYTES: usize = 64 << 20;

/// A step that has finished.
#[derive(Debug, Clone, Copy)]
pub struct NewStep<'a> {
    /// Its kind.
    pub kind: StepKind,
    /// The id of the tool call, of a tool's result.
    pub call: Option<&'a str>,
    /// Its content, which the store does not interpret.
    pub body: &'a str,
}

/// What a step produced. It exists once the step is committed, and not before.
#[derive(Debug, Default)]
pub struct StepChanges {
    /// Files for the client.
    pub files: Vec<StagedFile>,
    /// A container that the step is the first to use: it is recorded, and the run holds it.
    pub new_container: Option<ContainerRecord>,
    /// Contents of the container's files.
    pub contents: Vec<StagedContent>,
    /// The container's new files.
    pub container: Option<ContainerChange>,
    /// Usage of models.
    pub usage: Vec<UsageRow>,
    /// Events that the client gets once the step is committed.
    pub events: Option<EventChunk>,
}

/// A file whose content is stored, and which exists once its step is committed.
#[derive(Debug)]
pub struct StagedFile {
    /// The file.
    pub record: FileRecord,
    blob: StagedBlob,
}

/// What is written with a step.
struct StepRows<'a> {
    files: &'a [FileRecord],
    blobs: &'a [StagedBlob],
    new_container: Option<&'a ContainerRecord>,
    container: Option<&'a ContainerChange>,
    usage: &'a [UsageRow],
    events: Option<&'a EventChunk>,
}

impl Store {
    /// Stores the content of a file that a step will create.
    ///
    /// # Errors
    /// As [`Store::create_file`].
    pub async fn stage_file(
        &self,
        tenant: &TenantId,
        new: &NewFile<'_>,
        content: impl Stream<Item = io::Result<Bytes>>,
    ) -> Result<StagedFile> {
        let (record, blob) = self.stage_new_file(tenant, new, content).await?;
        Ok(StagedFile { record, blob })
    }

    /// Appends a step to a run and extends its lease, in one transaction with what the step
    /// produced. Afterwards `lease` names the next step.
    ///
    /// # Errors
    /// When the store cannot be written. Whether the step was stored is then unknown: give
    /// the run up.
    pub async fn append_step(
        &self,
        lease: &mut RunLease,
        step: &NewStep<'_>,
        changes: StepChanges,
        time: Duration,
    ) -> Result<AppendOutcome> {
        if step.body.len() > MAX_STEP_BYTES {
            return Err(Error::Invalid {
                field: "step",
                reason: format!(
                    "it has {} bytes; the limit is {MAX_STEP_BYTES}",
                    step.body.len()
                ),
            });
        }
        let StepChanges {
            files,
            new_container,
            contents,
            container,
            usage,
            events,
        } = changes;
        let (records, blobs, spare) = split_staged(files, contents);
        let rows = StepRows {
            files: &records,
            blobs: &blobs,
            new_container: new_container.as_ref(),
            container: container.as_ref(),
            usage: &usage,
            events: events.as_ref(),
        };
        let committed = self.commit_step(lease, step, time, &rows).await;
        match &committed {
            Ok(AppendOutcome::Committed) => {
                lease.next_step += 1;
                self.blobs().discard(&spare).await;
            }
            Ok(_) => {
                self.blobs().discard(&spare).await;
                self.blobs().discard(&blobs).await;
            }
            Err(Error::QuotaExceeded { .. }) => {
                self.blobs().discard(&spare).await;
                self.blobs().discard(&blobs).await;
            }
            // Whether it was committed is unknown, so staged content is kept.
            Err(_) => {}
        }
        committed
    }

    async fn commit_step(
        &self,
        lease: &RunLease,
        step: &NewStep<'_>,
        time: Duration,
        rows: &StepRows<'_>,
    ) -> Result<AppendOutcome> {
        let mut tx = self.db().begin().await?;
        if !rows.files.is_empty() || rows.container.is_some() {
            // Always before other rows: see `quota`.
            quota::lock_totals(&mut tx, &lease.tenant).await?;
        }
        let refused = match advance(&mut tx, lease, time).await? {
            AppendOutcome::Committed => None,
            refused => Some(refused),
        };
        if let Some(refused) = refused {
            tx.rollback().await;
            return Ok(refused);
        }
        insert_step(&mut tx, lease, step).await?;
        if let Some(new) = rows.new_container
            && !insert_held_container(&mut tx, lease, new).await?
        {
            tx.rollback().await;
            return Ok(AppendOutcome::ContainerChanged);
        }
        if let Some(change) = rows.container {
            let Some(growth) = commit_container(&mut tx, &lease.tenant, change).await? else {
                tx.rollback().await;
                return Ok(AppendOutcome::ContainerChanged);
            };
            let added = StorageUsage {
                bytes: u64::try_from(growth).unwrap_or_default(),
                ..StorageUsage::default()
            };
            self.check_quota_in_tx(&mut tx, &lease.tenant, &added)
                .await?;
        }
        self.insert_file_rows(&mut tx, &lease.tenant, rows.files)
            .await?;
        insert_usage(&mut tx, rows.usage).await?;
        if let Some(events) = rows.events {
            insert_events(&mut tx, &lease.run, &events.as_new()).await?;
        }
        if activate(&mut tx, rows.blobs, Timestamp::now()).await? == ActivationOutcome::Collected {
            tx.rollback().await;
            return Err(Error::Busy);
        }
        tx.commit().await?;
        Ok(AppendOutcome::Committed)
    }
}

/// Moves the run to its next step, if this lease still owns it.
async fn advance(tx: &mut Tx, lease: &RunLease, time: Duration) -> Result<AppendOutcome> {
    let sql = Sql::new("UPDATE journal_runs SET next_step = next_step + 1, lease_until = ")
        .push(tx.database().clock())
        .push_bind(" + ", micros(time))
        .push_bind(" WHERE id = ", &lease.run)
        .push_bind(" AND epoch = ", lease.epoch)
        .push_bind(" AND next_step = ", lease.next_step)
        .push(" AND state = 'running' AND cancel_requested = 0");
    if tx.execute(sql).await? == 1 {
        return Ok(AppendOutcome::Committed);
    }
    let sql = Sql::new("SELECT id FROM journal_runs WHERE id = ")
        .push_bind("", &lease.run)
        .push_bind(" AND epoch = ", lease.epoch)
        .push_bind(" AND next_step = ", lease.next_step)
        .push(" AND state = 'running' AND cancel_requested = 1");
    Ok(match tx.fetch_optional(sql).await? {
        Some(_) => AppendOutcome::CancelRequested,
        None => AppendOutcome::Lost,
    })
}

async fn insert_step(tx: &mut Tx, lease: &RunLease, step: &NewStep<'_>) -> Result<()> {
    let row = vec![
        lease.run.as_str().into(),
        lease.next_step.into(),
        lease.epoch.into(),
        step.kind.as_str().into(),
        step.call.into(),
        step.body.into(),
        Timestamp::now().into(),
    ];
    let sql = Sql::new(
        "INSERT INTO journal_steps (run, seq, epoch, kind, call, body, created_at) VALUES ",
    );
    tx.execute(sql.push_rows([row])).await.map(drop)
}

/// The records of files; the contents, each digest once and in order; and those that were
/// staged more than once.
fn split_staged(
    files: Vec<StagedFile>,
    contents: Vec<StagedContent>,
) -> (Vec<FileRecord>, Vec<StagedBlob>, Vec<StagedBlob>) {
    let mut blobs: BTreeMap<Digest, StagedBlob> = BTreeMap::new();
    let mut spare = Vec::new();
    let mut records = Vec::new();
    let contents = contents.into_iter().map(|content| content.0);
    let files = files.into_iter().map(|file| {
        records.push(file.record);
        file.blob
    });
    for blob in contents.chain(files) {
        if let Some(earlier) = blobs.insert(blob.digest, blob) {
            spare.push(earlier);
        }
    }
    (records, blobs.into_values().collect(), spare)
}
