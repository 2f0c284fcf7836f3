//! Which run uses a container. Others may not use it until that run ends.

use crate::Store;
use crate::containers::ContainerRecord;
use crate::db::{DbRow, Sql, Tx};
use crate::error::Result;
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::lease::RunLease;

/// What became of [`Store::hold_container`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HoldOutcome {
    /// The run uses the container until it ends.
    Held {
        /// The current generation.
        generation: i64,
    },
    /// Another run uses it.
    Busy {
        /// That run.
        run: String,
    },
    /// The tenant has no such container.
    NotFound,
}

impl Store {
    /// Whether a run that goes on without its client uses a container of the tenant.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn is_container_held(&self, tenant: &TenantId, container: &str) -> Result<bool> {
        let mut tx = self.db().begin().await?;
        let sql = Sql::new("SELECT held_by, held_epoch FROM sessions WHERE tenant = ")
            .push_bind("", tenant.as_str())
            .push_bind(" AND id = ", container);
        let held = match tx.fetch_optional(sql).await? {
            Some(row) => is_held(&mut tx, &row).await?,
            None => false,
        };
        tx.rollback().await;
        Ok(held)
    }

    /// Reserves a container for a run. A run that lost its lease or has ended does not hold
    /// one any more.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn hold_container(&self, lease: &RunLease, container: &str) -> Result<HoldOutcome> {
        let mut tx = self.db().begin().await?;
        let sql = Sql::new("SELECT generation, held_by, held_epoch FROM sessions WHERE tenant = ")
            .push_bind("", lease.tenant.as_str())
            .push_bind(" AND id = ", container)
            .for_update();
        let Some(row) = tx.fetch_optional(sql).await? else {
            tx.rollback().await;
            return Ok(HoldOutcome::NotFound);
        };
        let held = HoldOutcome::Held {
            generation: row.int("generation")?,
        };
        let held_by = row.optional_text("held_by")?;
        if held_by.as_ref() == Some(&lease.run)
            && row.optional_int("held_epoch")? == Some(lease.epoch)
        {
            tx.rollback().await;
            return Ok(held);
        }
        if let Some(run) = held_by
            && run != lease.run
            && is_open(&mut tx, &run, row.optional_int("held_epoch")?).await?
        {
            tx.rollback().await;
            return Ok(HoldOutcome::Busy { run });
        }
        let sql = Sql::new("UPDATE sessions SET held_by = ")
            .push_bind("", &lease.run)
            .push_bind(", held_epoch = ", lease.epoch)
            .push_bind(" WHERE id = ", container);
        tx.execute(sql).await?;
        tx.commit().await?;
        Ok(held)
    }
}

/// Holds a container for a run that begins in the same transaction, if no run does.
pub(super) async fn hold_if_free(tx: &mut Tx, lease: &RunLease, container: &str) -> Result<()> {
    let sql = Sql::new("UPDATE sessions SET held_by = ")
        .push_bind("", &lease.run)
        .push_bind(", held_epoch = ", lease.epoch)
        .push_bind(" WHERE tenant = ", lease.tenant.as_str())
        .push_bind(" AND id = ", container)
        .push(" AND held_by IS NULL");
    tx.execute(sql).await.map(drop)
}

/// Whether a run holds the container of this row.
pub(super) async fn is_held(tx: &mut Tx, row: &DbRow) -> Result<bool> {
    match row.optional_text("held_by")? {
        Some(run) => is_open(tx, &run, row.optional_int("held_epoch")?).await,
        None => Ok(false),
    }
}

/// Whether a run that holds a container is still to go on: kept runs are resumed, so they
/// hold their containers while no server owns them.
async fn is_open(tx: &mut Tx, run: &str, epoch: Option<i64>) -> Result<bool> {
    let sql = Sql::new("SELECT id FROM journal_runs WHERE id = ")
        .push_bind("", run)
        .push_bind(" AND epoch >= ", epoch)
        .push(" AND state IN ('queued', 'running') AND (kept = 1 OR lease_until > ")
        .push(tx.database().clock())
        .push(")");
    Ok(tx.fetch_optional(sql).await?.is_some())
}

/// Records a new container within the transaction of a step, held by its run. Returns whether it
/// was new.
pub(super) async fn insert_held_container(
    tx: &mut Tx,
    lease: &RunLease,
    new: &ContainerRecord,
) -> Result<bool> {
    let row = vec![
        new.id.as_str().into(),
        lease.tenant.as_str().into(),
        new.upstream.as_deref().into(),
        Timestamp::now().into(),
        new.skills.to_string().into(),
        lease.run.as_str().into(),
        lease.epoch.into(),
    ];
    let sql = Sql::new(
        "INSERT INTO sessions (id, tenant, upstream, used_at, skills, held_by, held_epoch) VALUES ",
    )
    .push_rows([row])
    .push(" ON CONFLICT (id) DO NOTHING");
    Ok(tx.execute(sql).await? == 1)
}
