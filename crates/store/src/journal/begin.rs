//! The row with which a run begins.

use std::time::Duration;

use crate::Store;
use crate::db::{DbRow, Sql, Tx};
use crate::error::{Error, Result};
use crate::quota::StorageUsage;
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::container_hold::hold_if_free;
use super::lease::{FIRST_EPOCH, RunLease, micros};
use super::read::select_open_runs;
use super::run_state::RunState;

/// Bytes of an idempotency key.
const MAX_IDEMPOTENCY_KEY_BYTES: usize = 255;

/// A run that is about to begin.
#[derive(Debug, Clone, Copy)]
pub struct NewJournalRun<'a> {
    /// `run_…`, from [`Store::new_run_id`].
    pub id: &'a str,
    /// The id of the key that the request was authenticated with; `None` for the operator.
    pub api_key: Option<&'a str>,
    /// The client's dialect.
    pub dialect: &'a str,
    /// The model name that the client sent.
    pub model: &'a str,
    /// Whether it goes on without its client, and is resumed by another server.
    pub kept: bool,
    /// The version of the form in which request and steps are stored.
    pub format: i64,
    /// The client's key under which the run is found again, if it sent one.
    pub idempotency_key: Option<&'a str>,
    /// Digest of the request. A repeated key with another digest, or in another dialect, is a
    /// mistake.
    pub request_digest: &'a str,
    /// What is needed to begin again from the start.
    pub request: &'a [u8],
}

/// What became of [`Store::begin_run`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeginOutcome {
    /// The run begins, and this server owns it.
    Started(RunLease),
    /// The tenant has sent this idempotency key before.
    Existing {
        /// The run that began then.
        run: String,
        /// Whether its request was the same.
        same_request: bool,
    },
}

impl Store {
    /// Begins a run that this server runs now.
    ///
    /// # Errors
    /// When the idempotency key is too long, the tenant stores too much, or the store cannot be
    /// written.
    pub async fn begin_run(
        &self,
        tenant: &TenantId,
        new: &NewJournalRun<'_>,
        owner: &str,
        lease: Duration,
    ) -> Result<BeginOutcome> {
        let (owner, container, max_open) = (Some((owner, lease)), None, None);
        self.insert_run(tenant, new, owner, container, max_open)
            .await
    }

    /// Begins a run that continues in a container of the tenant, which it holds from now on
    /// unless another run does: see [`Store::hold_container`].
    ///
    /// # Errors
    /// As [`Store::begin_run`].
    pub async fn begin_run_in(
        &self,
        tenant: &TenantId,
        new: &NewJournalRun<'_>,
        owner: &str,
        lease: Duration,
        container: &str,
    ) -> Result<BeginOutcome> {
        let (owner, max_open) = (Some((owner, lease)), None);
        self.insert_run(tenant, new, owner, Some(container), max_open)
            .await
    }

    /// Stores a run for any server to claim. `Started` then has an expired lease.
    ///
    /// # Errors
    /// As [`Store::begin_run`].
    pub async fn enqueue_run(
        &self,
        tenant: &TenantId,
        new: &NewJournalRun<'_>,
    ) -> Result<BeginOutcome> {
        self.insert_run(tenant, new, None, None, None).await
    }

    /// Stores a kept run of a tenant that may have `max_open` of them which have not ended, however
    /// many it submits at once. With an owner it begins as by [`Store::begin_run`], or
    /// [`Store::begin_run_in`] with a container; without one it waits as by
    /// [`Store::enqueue_run`].
    ///
    /// # Errors
    /// As [`Store::begin_run`], and when the tenant has too many.
    pub async fn submit_run(
        &self,
        tenant: &TenantId,
        new: &NewJournalRun<'_>,
        owner: Option<(&str, Duration)>,
        container: Option<&str>,
        max_open: u64,
    ) -> Result<BeginOutcome> {
        self.insert_run(tenant, new, owner, container, Some(max_open))
            .await
    }

    /// The run that a tenant has begun with this idempotency key, as [`BeginOutcome::Existing`] for
    /// a request with this dialect and digest; `None` if there is none.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn find_started_run(
        &self,
        tenant: &TenantId,
        idempotency_key: &str,
        dialect: &str,
        request_digest: &str,
    ) -> Result<Option<BeginOutcome>> {
        let sql = select_started_run(tenant, Some(idempotency_key));
        let row = self.db().fetch_optional(sql).await?;
        row.map(|row| started_run(&row, dialect, request_digest))
            .transpose()
    }

    async fn insert_run(
        &self,
        tenant: &TenantId,
        new: &NewJournalRun<'_>,
        owner: Option<(&str, Duration)>,
        container: Option<&str>,
        max_open: Option<u64>,
    ) -> Result<BeginOutcome> {
        if let Some(key) = new.idempotency_key
            && (key.is_empty() || key.len() > MAX_IDEMPOTENCY_KEY_BYTES)
        {
            return Err(Error::Invalid {
                field: "Idempotency-Key",
                reason: format!("it must have 1 to {MAX_IDEMPOTENCY_KEY_BYTES} bytes"),
            });
        }
        self.disk_space().check(new.request.len() as u64)?;
        let state = match owner {
            Some(_) => RunState::Running,
            None => RunState::Queued,
        };
        let mut tx = self.db().begin().await?;
        let sql = Sql::new(
            "INSERT INTO journal_runs (id, tenant, api_key, dialect, model, kept, state, format,
                owner, epoch, next_step, cancel_requested, idempotency_key, request_digest,
                request, created_at, lease_until)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $14, 0, 0, $10, $11, $12, $13, ",
        )
        .bind(new.id)
        .bind(tenant.as_str())
        .bind(new.api_key)
        .bind(new.dialect)
        .bind(new.model)
        .bind(new.kept)
        .bind(state.as_str())
        .bind(new.format)
        .bind(owner.map(|(name, _)| name))
        .bind(new.idempotency_key)
        .bind(new.request_digest)
        .bind(new.request.to_vec())
        .bind(Timestamp::now())
        .bind(FIRST_EPOCH)
        .push(tx.database().clock())
        .push_bind(
            " + ",
            micros(owner.map_or(Duration::ZERO, |(_, lease)| lease)),
        )
        .push(
            ") ON CONFLICT (tenant, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING",
        );
        let inserted = tenant.map_unknown_tenant(tx.execute(sql).await)?;
        if inserted == 0 {
            let existing = existing_run(&mut tx, tenant, new).await?;
            tx.rollback().await;
            return Ok(existing);
        }
        let added = StorageUsage {
            bytes: new.request.len() as u64,
            ..StorageUsage::default()
        };
        self.check_quota_in_tx(&mut tx, tenant, &added).await?;
        if let Some(limit) = max_open {
            check_open_runs(&mut tx, tenant, limit).await?;
        }
        let lease = RunLease {
            run: new.id.to_owned(),
            tenant: tenant.clone(),
            epoch: FIRST_EPOCH,
            next_step: 0,
        };
        if let Some(container) = container {
            hold_if_free(&mut tx, &lease, container).await?;
        }
        tx.commit().await?;
        Ok(BeginOutcome::Started(lease))
    }
}

/// Refuses a run that was inserted in the transaction, if there are too many with it. Those that
/// are submitted at the same moment are counted one after the other: each has locked the tenant's
/// totals when it was inserted.
async fn check_open_runs(tx: &mut Tx, tenant: &TenantId, limit: u64) -> Result<()> {
    let row = tx.fetch_optional(select_open_runs(tenant)).await?;
    let open = row.map_or(Ok(0), |row| row.int("open"))?;
    match u64::try_from(open).unwrap_or_default() > limit {
        true => Err(Error::TooManyRuns { limit }),
        false => Ok(()),
    }
}

async fn existing_run(
    tx: &mut Tx,
    tenant: &TenantId,
    new: &NewJournalRun<'_>,
) -> Result<BeginOutcome> {
    let sql = select_started_run(tenant, new.idempotency_key);
    // It may have been deleted since the insertion was refused.
    let row = tx.fetch_optional(sql).await?.ok_or(Error::Busy)?;
    started_run(&row, new.dialect, new.request_digest)
}

fn select_started_run(tenant: &TenantId, idempotency_key: Option<&str>) -> Sql {
    let sql = Sql::new(
        "SELECT id, dialect, request_digest FROM journal_runs
         WHERE tenant = $1 AND idempotency_key = $2",
    );
    sql.bind(tenant.as_str()).bind(idempotency_key)
}

fn started_run(row: &DbRow, dialect: &str, request_digest: &str) -> Result<BeginOutcome> {
    // The same body in another dialect is another request: its client cannot read the response of
    // the first one. The digest is of the body alone.
    let is_same_body = row.text("request_digest")? == request_digest;
    Ok(BeginOutcome::Existing {
        run: row.text("id")?,
        same_request: is_same_body && row.text("dialect")? == dialect,
    })
}
