//! Which run uses a container. Others may not use it until that run ends.

use crate::Store;
use crate::containers::ContainerRecord;
use crate::db::{Database, DbRow, Sql, Tx};
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
    /// Another run uses it, or a command of a cluster that is not part of this run.
    Busy {
        /// That run, or who runs that command.
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
        if let Some(run) = other_command(&mut tx, &lease.run, container).await? {
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
        .push(
            " AND held_by IS NULL AND NOT EXISTS (SELECT 1 FROM cluster_containers c
                WHERE c.id = sessions.id AND c.held_until > ",
        )
        .push(tx.database().clock())
        .push(")");
    tx.execute(sql).await.map(drop)
}

/// Who runs a command in a container of a cluster now, if the command is not part of this run.
async fn other_command(tx: &mut Tx, run: &str, container: &str) -> Result<Option<String>> {
    let sql = Sql::new("SELECT held_by FROM cluster_containers WHERE id = ")
        .push_bind("", container)
        .push(" AND held_by IS NOT NULL AND held_until > ")
        .push(tx.database().clock())
        .push_bind(" AND (held_run IS NULL OR held_run <> ", run)
        .push(")")
        .for_update();
    let row = tx.fetch_optional(sql).await?;
    row.map_or(Ok(None), |row| row.optional_text("held_by"))
}

/// Whether a run holds the container of this row.
pub(crate) async fn is_held(tx: &mut Tx, row: &DbRow) -> Result<bool> {
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

/// Restricts a statement to rows `s` of `sessions` that no run holds: see [`is_held`].
pub(crate) fn and_no_run_holds(sql: Sql, database: Database) -> Sql {
    sql.push(
        " AND NOT EXISTS (SELECT 1 FROM journal_runs r WHERE r.id = s.held_by
              AND r.epoch >= s.held_epoch AND r.state IN ('queued', 'running')
              AND (r.kept = 1 OR r.lease_until > ",
    )
    .push(database.clock())
    .push("))")
}

/// Records a new container within the transaction of a step, held by its run. Returns whether it
/// was new. One that a cluster has created before is recorded as new, unless another run holds
/// it.
pub(super) async fn insert_held_container(
    tx: &mut Tx,
    lease: &RunLease,
    new: &ContainerRecord,
) -> Result<bool> {
    let row = vec![
        new.id.as_str().into(),
        lease.tenant.as_str().into(),
        new.stored_upstream().into(),
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
    if tx.execute(sql).await? == 1 {
        return Ok(true);
    }
    hold_cluster_container(tx, lease, new).await
}

/// Holds a container that a cluster has created for its run, and records its skills. Returns
/// false if it is another's.
async fn hold_cluster_container(
    tx: &mut Tx,
    lease: &RunLease,
    new: &ContainerRecord,
) -> Result<bool> {
    let sql = Sql::new(
        "SELECT s.held_by, s.held_epoch
         FROM sessions s JOIN cluster_containers c ON c.id = s.id WHERE s.tenant = ",
    )
    .push_bind("", lease.tenant.as_str())
    .push_bind(" AND s.id = ", &new.id)
    .for_update();
    let Some(row) = tx.fetch_optional(sql).await? else {
        return Ok(false);
    };
    if row.optional_text("held_by")?.as_ref() != Some(&lease.run) && is_held(tx, &row).await? {
        return Ok(false);
    }
    let sql = Sql::new("UPDATE sessions SET held_by = ")
        .push_bind("", &lease.run)
        .push_bind(", held_epoch = ", lease.epoch)
        .push_bind(", upstream = ", new.upstream.as_deref())
        .push_bind(", skills = ", new.skills.to_string())
        .push_bind(", used_at = ", Timestamp::now())
        .push_bind(" WHERE id = ", &new.id);
    Ok(tx.execute(sql).await? == 1)
}
