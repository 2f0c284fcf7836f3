//! Which command uses a container. Others wait until it has ended, or its hold has run out.

use std::time::Duration;

use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::Result;
use crate::journal::micros;
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::container::ClusterContainer;
use super::rows::{self, holding_run, live_command};
use super::skills::{read_skills, select_skills};

/// On whose behalf a container is used. While a kept run holds it, nobody else may use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerUser<'a> {
    /// Somebody who is no run.
    Anyone,
    /// This run, kept or not.
    Run(&'a str),
    /// The kept run that holds the container, which the caller continues.
    HoldingRun,
}

/// What became of [`Store::begin_command`].
#[derive(Debug, Clone, PartialEq)]
pub enum BeginCommandOutcome {
    /// The command uses the container.
    Held(Box<ClusterContainer>),
    /// Another command or a kept run uses it.
    Busy {
        /// The holder of that command, or the run.
        by: String,
    },
    /// The tenant has no such container.
    NotFound,
}

/// A command that is about to begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewHold<'a> {
    pub(super) holder: &'a str,
    pub(super) hold_for: Duration,
    pub(super) user: ContainerUser<'a>,
}

impl Store {
    /// Reserves a container for a command for some time. `holder` names the command: it must be
    /// different for each attempt to run one, because a commit is recognised by it. To call this
    /// again with the same holder extends the time. A command of the same run, on a server that
    /// has lost the run, loses the container.
    ///
    /// # Errors
    /// When the store cannot be written. The container may then be held until the time is over.
    pub async fn begin_command(
        &self,
        tenant: &TenantId,
        id: &str,
        holder: &str,
        hold_for: Duration,
        user: ContainerUser<'_>,
    ) -> Result<BeginCommandOutcome> {
        let new = NewHold {
            holder,
            hold_for,
            user,
        };
        if let Some(container) = self.hold_unused(tenant, id, new).await? {
            return Ok(BeginCommandOutcome::Held(Box::new(container)));
        }
        let mut tx = self.db().begin().await?;
        let Some(row) = rows::lock(&mut tx, tenant, id).await? else {
            tx.rollback().await;
            return Ok(BeginCommandOutcome::NotFound);
        };
        let holding = holding_run(&mut tx, &row).await?;
        let run = match user {
            ContainerUser::Anyone => None,
            ContainerUser::Run(run) => Some(run.to_owned()),
            ContainerUser::HoldingRun => holding.clone(),
        };
        if let Some(by) = holding
            && run.as_ref() != Some(&by)
        {
            tx.rollback().await;
            return Ok(BeginCommandOutcome::Busy { by });
        }
        if let Some(by) = live_command(&row)?
            && by != holder
            && (run.is_none() || row.optional_text("command_run")? != run)
        {
            tx.rollback().await;
            return Ok(BeginCommandOutcome::Busy { by });
        }
        let mut container = ClusterContainer::from_row(&row)?;
        container.used_at = write_hold(&mut tx, id, holder, run.as_deref(), hold_for).await?;
        container.skills = read_skills(&tx.fetch_all(select_skills(id)).await?)?;
        tx.commit_unsynced().await?;
        Ok(BeginCommandOutcome::Held(Box::new(container)))
    }

    /// Extends the time of a command. Returns false if it does not hold the container any more:
    /// stop it, its changes cannot be committed.
    ///
    /// # Errors
    /// When the store cannot be written. The time may or may not have been extended.
    pub async fn renew_command(
        &self,
        tenant: &TenantId,
        id: &str,
        holder: &str,
        hold_for: Duration,
    ) -> Result<bool> {
        let clock = self.database().clock();
        // One that has run out, after a pause of this server, is extended only if no run can
        // hold the container since.
        let sql = Sql::new("UPDATE cluster_containers SET held_until = ")
            .push(clock)
            .push_bind(" + ", micros(hold_for))
            .push_bind(" WHERE tenant = ", tenant.as_str())
            .push_bind(" AND id = ", id)
            .push_bind(" AND held_by = ", holder)
            .push(" AND (held_until > ")
            .push(clock)
            .push(
                " OR EXISTS (SELECT 1 FROM sessions s WHERE s.id = cluster_containers.id
                     AND (s.held_by IS NULL OR s.held_by = cluster_containers.held_run)))",
            );
        let renewed = self.db().write_unsynced(sql, "RETURNING id").await?;
        Ok(!renewed.is_empty())
    }

    /// Ends a command that has changed nothing, or whose changes are given up or are committed
    /// with a step. `worker` ran it. Does nothing if it does not hold the container.
    ///
    /// # Errors
    /// When the store cannot be written. The hold then runs out.
    pub async fn end_command(
        &self,
        tenant: &TenantId,
        id: &str,
        holder: &str,
        worker: Option<&str>,
    ) -> Result<()> {
        let sql = Sql::new(
            "UPDATE cluster_containers
             SET held_by = NULL, held_run = NULL, held_until = 0, used_at = ",
        )
        .push(self.database().clock())
        .push_bind(", worker = COALESCE(", worker)
        .push_bind(", worker) WHERE tenant = ", tenant.as_str())
        .push_bind(" AND id = ", id)
        .push_bind(" AND held_by = ", holder);
        let ended = self.db().write_unsynced(sql, "RETURNING id").await;
        ended.map(drop)
    }
}

/// Returns when the container is used: now.
async fn write_hold(
    tx: &mut Tx,
    id: &str,
    holder: &str,
    run: Option<&str>,
    hold_for: Duration,
) -> Result<Timestamp> {
    let clock = tx.database().clock();
    let sql = Sql::new("UPDATE cluster_containers SET held_by = ")
        .push_bind("", holder)
        .push_bind(", held_run = ", run)
        .push(", used_at = ")
        .push(clock)
        .push(", held_until = ")
        .push(clock)
        .push_bind(" + ", micros(hold_for))
        .push_bind(" WHERE id = ", id)
        .push(" RETURNING used_at");
    match tx.fetch_optional(sql).await? {
        Some(row) => row.time("used_at"),
        // The caller has locked the row.
        None => Ok(Timestamp::now()),
    }
}
