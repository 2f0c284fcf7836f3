//! Ending and cancelling a run.

use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::{Error, ResourceKind, Result};
use crate::tenant::TenantId;

use super::events::{EventChunk, insert_events};
use super::lease::RunLease;
use super::run_state::RunState;
use super::webhooks::{NewWebhook, insert_webhooks};

/// How a run ended.
#[derive(Debug, Clone, Copy)]
pub struct RunResult<'a> {
    /// A terminal state.
    pub state: RunState,
    /// The response or error, as JSON.
    pub body: &'a str,
    /// The last events.
    pub events: Option<&'a EventChunk>,
}

/// What became of [`Store::end_run`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum EndOutcome {
    /// The run has ended.
    Ended,
    /// Nothing was stored: another server owns the run, or it had ended.
    Lost,
}

/// What became of [`Store::cancel_run`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelOutcome {
    /// It had not begun, and never will.
    Cancelled,
    /// Its server will end it.
    Requested,
    /// It had ended before, in this state.
    AlreadyEnded(RunState),
}

impl Store {
    /// Ends a run, in one transaction with the webhooks that announce it.
    ///
    /// # Errors
    /// When the state is not terminal, or the store cannot be written. Whether the run has
    /// ended is then unknown.
    pub async fn end_run(
        &self,
        lease: &RunLease,
        result: &RunResult<'_>,
        webhooks: &[NewWebhook<'_>],
    ) -> Result<EndOutcome> {
        if !result.state.is_terminal() {
            return Err(Error::Invalid {
                field: "state",
                reason: format!("`{}` does not end a run", result.state.as_str()),
            });
        }
        let mut tx = self.db().begin().await?;
        let sql = Sql::new("UPDATE journal_runs SET owner = NULL, state = ")
            .push_bind("", result.state.as_str())
            .push_bind(", result = ", result.body)
            .push(", ended_at = ")
            .push(tx.database().clock())
            .push_bind(" WHERE id = ", &lease.run)
            .push_bind(" AND epoch = ", lease.epoch)
            .push_bind(" AND next_step = ", lease.next_step)
            .push(" AND state = 'running'");
        if tx.execute(sql).await? == 0 {
            tx.rollback().await;
            return Ok(EndOutcome::Lost);
        }
        if let Some(events) = result.events {
            insert_events(&mut tx, &lease.run, &events.as_new()).await?;
        }
        release_containers(&mut tx, &lease.run).await?;
        insert_webhooks(&mut tx, &lease.tenant, &lease.run, webhooks).await?;
        tx.commit().await?;
        Ok(EndOutcome::Ended)
    }

    /// Cancels a run. The webhooks are for one that no server has begun; for others, the
    /// server that ends it adds them. Repeating it changes nothing.
    ///
    /// # Errors
    /// When the tenant has no such run, or the store cannot be written.
    pub async fn cancel_run(
        &self,
        tenant: &TenantId,
        run: &str,
        webhooks: &[NewWebhook<'_>],
    ) -> Result<CancelOutcome> {
        let mut tx = self.db().begin().await?;
        let sql = Sql::new("SELECT state FROM journal_runs WHERE tenant = ")
            .push_bind("", tenant.as_str())
            .push_bind(" AND id = ", run)
            .for_update();
        let row = tx.fetch_optional(sql).await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Run, run))?;
        let outcome = match RunState::parse(&row.text("state")?)? {
            RunState::Queued => {
                let sql = Sql::new(
                    "UPDATE journal_runs SET state = 'cancelled', cancel_requested = 1,
                        epoch = epoch + 1, ended_at = ",
                )
                .push(tx.database().clock())
                .push_bind(" WHERE id = ", run);
                tx.execute(sql).await?;
                insert_webhooks(&mut tx, tenant, run, webhooks).await?;
                CancelOutcome::Cancelled
            }
            RunState::Running => {
                let sql = Sql::new("UPDATE journal_runs SET cancel_requested = 1 WHERE id = ");
                tx.execute(sql.push_bind("", run)).await?;
                CancelOutcome::Requested
            }
            ended => CancelOutcome::AlreadyEnded(ended),
        };
        tx.commit().await?;
        Ok(outcome)
    }
}

async fn release_containers(tx: &mut Tx, run: &str) -> Result<()> {
    let sql = Sql::new("UPDATE sessions SET held_by = NULL, held_epoch = NULL WHERE held_by = ");
    tx.execute(sql.push_bind("", run)).await.map(drop)
}
