//! Leases: which server may continue a run.

use std::time::Duration;

use super::run_owner::{GIVE_BACK, IS_SUSPECT, RunOwner};
use crate::Store;
use crate::db::{DbRow, Sql};
use crate::error::Result;
use crate::tenant::TenantId;

/// The epoch of the server that begins a run. One that was queued is claimed, and has a later one.
pub(super) const FIRST_EPOCH: i64 = 1;

/// The right to continue a run. Every write names it; one that another server has taken over
/// changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLease {
    /// The run.
    pub run: String,
    /// Its tenant.
    pub tenant: TenantId,
    /// Incremented each time the run changes its owner.
    pub epoch: i64,
    /// The number of steps that are finished.
    pub next_step: i64,
}

impl RunLease {
    /// Whether no server had the run before, so that nothing is stored of it but its request.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.epoch == FIRST_EPOCH && self.next_step == 0
    }
}

/// A run that was taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedRun {
    /// The lease.
    pub lease: RunLease,
    /// The id of the key that the request was authenticated with.
    pub api_key: Option<String>,
    /// The client's dialect.
    pub dialect: String,
    /// The model name that the client sent.
    pub model: String,
    /// What is needed to begin again from the start.
    pub request: Vec<u8>,
    /// Whether it is to be cancelled.
    pub cancel_requested: bool,
    /// How many servers died with it since its last finished step, or since one released it. Those
    /// that gave it up or back are not counted.
    pub losses: u32,
}

/// What a renewal found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseStatus {
    /// The lease was renewed.
    Held,
    /// It was renewed, and the run is to be cancelled.
    CancelRequested,
    /// Another server owns the run, or it has ended: stop at once.
    Lost,
}

impl Store {
    /// Takes over up to `limit` kept runs that no server owns, those that have waited longest
    /// first. Runs of a newer format than `newest_format` are left to newer servers, and those
    /// of the tenants in `except` to servers that have a place for them, unless they are to be
    /// cancelled. Of the keys with the ids in `except_keys`, only runs are taken over that have
    /// finished steps or are to be cancelled. Those that are taken over are of `newest_format` from then on: their next
    /// steps are written in it.
    ///
    /// Of the runs that were lost several times since their last finished step, an owner has one
    /// at a time: one of them may be what its servers died of, and the others go on without it.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn claim_runs(
        &self,
        owner: &str,
        lease: Duration,
        newest_format: i64,
        limit: u32,
        except: &[TenantId],
        except_keys: &[String],
    ) -> Result<Vec<ClaimedRun>> {
        let mut tx = self.db().begin().await?;
        let clock = tx.database().clock();
        let claimable = || select_claimable(clock, newest_format, except, except_keys);
        let suspect = claimable()
            .push(" AND ")
            .push(IS_SUSPECT)
            .push(" AND NOT EXISTS (SELECT 1 FROM journal_runs WHERE state = 'running'")
            .push(" AND lease_until > ")
            .push(clock)
            .push_bind(" AND owner LIKE ", format!("{owner} %"))
            .push(" AND ")
            .push(IS_SUSPECT)
            .push(") ORDER BY lease_until, id LIMIT 1");
        let mut rows = tx.fetch_all(suspect.for_update_skip_locked()).await?;
        let rest = i64::from(limit) - i64::from(!rows.is_empty());
        let others = claimable()
            .push(" AND (owner IS NULL OR NOT ")
            .push(IS_SUSPECT)
            .push_bind(") ORDER BY lease_until, id LIMIT ", rest);
        rows.extend(tx.fetch_all(others.for_update_skip_locked()).await?);
        let ids = rows.iter().map(|row| row.text("id"));
        let ids = ids.collect::<Result<Vec<_>>>()?;
        if ids.is_empty() {
            tx.rollback().await;
            return Ok(Vec::new());
        }
        let sql =
            Sql::new("UPDATE journal_runs SET state = 'running', epoch = epoch + 1, owner = ");
        let sql = push_owners(sql, &rows, owner)?
            .push_bind(", format = ", newest_format)
            .push(", lease_until = ")
            .push(clock)
            .push_bind(" + ", micros(lease))
            .push(" WHERE id IN ")
            .push_list(&ids)
            .push(
                " RETURNING id, tenant, epoch, next_step, api_key, dialect, model,
                    request, cancel_requested, owner",
            );
        let rows = tx.fetch_all(sql).await?;
        let claimed = rows.iter().map(ClaimedRun::from_row);
        let mut claimed = claimed.collect::<Result<Vec<_>>>()?;
        tx.commit().await?;
        claimed.sort_by_key(|run| ids.iter().position(|id| *id == run.lease.run));
        Ok(claimed)
    }

    /// Extends a lease.
    ///
    /// # Errors
    /// When the store cannot be written. The lease may or may not have been extended.
    pub async fn renew_lease(&self, lease: &RunLease, time: Duration) -> Result<LeaseStatus> {
        let mut tx = self.db().begin().await?;
        let sql = Sql::new("UPDATE journal_runs SET lease_until = ")
            .push(tx.database().clock())
            .push_bind(" + ", micros(time))
            .push_bind(" WHERE id = ", &lease.run)
            .push_bind(" AND epoch = ", lease.epoch)
            .push(" AND state = 'running' RETURNING cancel_requested");
        let row = tx.fetch_optional(sql).await?;
        tx.commit().await?;
        Ok(match row {
            None => LeaseStatus::Lost,
            Some(row) if row.flag("cancel_requested")? => LeaseStatus::CancelRequested,
            Some(_) => LeaseStatus::Held,
        })
    }

    /// Gives up a lease, so that any server may claim the run at once. Returns whether it was
    /// still held.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn release_lease(&self, lease: &RunLease) -> Result<bool> {
        let sql = Sql::new("UPDATE journal_runs SET owner = NULL, lease_until = 0 WHERE id = ")
            .push_bind("", &lease.run)
            .push_bind(" AND epoch = ", lease.epoch)
            .push(" AND state = 'running'");
        Ok(self.db().execute(sql).await? == 1)
    }

    /// Gives up a run that this server cannot go on with now. It is claimed when its lease has run
    /// out, and that is no loss: its server has not died. Returns whether it was still held. It can
    /// be repeated.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn give_up_run(&self, lease: &RunLease) -> Result<bool> {
        let sql = Sql::new("UPDATE journal_runs SET ")
            .push(GIVE_BACK)
            .push_bind(" WHERE id = ", &lease.run)
            .push_bind(" AND epoch = ", lease.epoch)
            .push(" AND state = 'running'");
        Ok(self.db().execute(sql).await? == 1)
    }

    /// Gives back a run that was claimed and not started, to be claimed before all others. One
    /// without finished steps waits in the queue again, where it can be cancelled at once. Returns
    /// whether it was still held.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn return_run(&self, lease: &RunLease) -> Result<bool> {
        let sql = Sql::new("UPDATE journal_runs SET ")
            .push(GIVE_BACK)
            .push(
                ", lease_until = 0,
                state = CASE WHEN next_step = 0 AND cancel_requested = 0 THEN 'queued'
                             ELSE 'running' END
             WHERE id = ",
            )
            .push_bind("", &lease.run)
            .push_bind(" AND epoch = ", lease.epoch)
            .push(" AND state = 'running'");
        Ok(self.db().execute(sql).await? == 1)
    }

    /// Puts a run without finished steps back at the end of the queue. Returns whether it was:
    /// not if the lease is lost, or the run is to be cancelled.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn postpone_run(&self, lease: &RunLease) -> Result<bool> {
        let sql = Sql::new("UPDATE journal_runs SET state = 'queued', ")
            .push(GIVE_BACK)
            .push(", lease_until = ")
            .push(self.db().database().clock())
            .push_bind(" WHERE id = ", &lease.run)
            .push_bind(" AND epoch = ", lease.epoch)
            .push(" AND next_step = 0 AND state = 'running' AND cancel_requested = 0");
        Ok(self.db().execute(sql).await? == 1)
    }
}

/// Kept runs that no server owns, without the end of the statement.
fn select_claimable(
    clock: &'static str,
    newest_format: i64,
    except: &[TenantId],
    except_keys: &[String],
) -> Sql {
    let sql = Sql::new(
        "SELECT id, owner, next_step FROM journal_runs
         WHERE kept = 1 AND state IN ('queued', 'running') AND lease_until <= ",
    )
    .push(clock)
    .push_bind(" AND format <= ", newest_format);
    let sql = if except.is_empty() {
        sql
    } else {
        sql.push(" AND (cancel_requested = 1 OR tenant NOT IN ")
            .push_list(except.iter().map(TenantId::as_str))
            .push(")")
    };
    if except_keys.is_empty() {
        return sql;
    }
    sql.push(
        " AND (next_step > 0 OR cancel_requested = 1 OR api_key IS NULL
          OR api_key NOT IN ",
    )
    .push_list(except_keys)
    .push(")")
}

/// Appends the new owner of each row: with its losses if the row still has the last owner.
fn push_owners(sql: Sql, rows: &[DbRow], owner: &str) -> Result<Sql> {
    let mut sql = sql;
    let mut has_lost = false;
    for row in rows {
        let Some(last) = row.optional_text("owner")? else {
            continue;
        };
        let next = RunOwner::parse(&last).claimed_by(owner, row.int("next_step")?);
        sql = if has_lost { sql } else { sql.push("CASE id") };
        has_lost = true;
        sql = sql
            .push_bind(" WHEN ", row.text("id")?)
            .push_bind(" THEN ", next.to_text());
    }
    Ok(match has_lost {
        true => sql.push_bind(" ELSE ", owner).push(" END"),
        false => sql.push_bind("", owner),
    })
}

impl ClaimedRun {
    fn from_row(row: &DbRow) -> Result<Self> {
        let owner = row.optional_text("owner")?;
        Ok(ClaimedRun {
            lease: RunLease {
                run: row.text("id")?,
                tenant: TenantId::new(row.text("tenant")?)?,
                epoch: row.int("epoch")?,
                next_step: row.int("next_step")?,
            },
            api_key: row.optional_text("api_key")?,
            dialect: row.text("dialect")?,
            model: row.text("model")?,
            request: row.optional_bytes("request")?.unwrap_or_default(),
            cancel_requested: row.flag("cancel_requested")?,
            losses: owner.map_or(0, |owner| RunOwner::parse(&owner).losses),
        })
    }
}

pub(crate) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX / 4)
}
