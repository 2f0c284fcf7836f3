//! Writing the rows of a server, and its lease on them.

use std::time::Duration;

use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::Result;

use super::row::{CHANGING, COLUMNS, ForegroundRun};

impl Store {
    /// Writes runs that have no row yet, and what has changed of others, in one transaction.
    /// Returns those of `changed` whose row is gone: another server has recorded them as
    /// interrupted.
    ///
    /// # Errors
    /// When the store cannot be written. Whether the rows were written is then unknown; those
    /// of `new` may be written again.
    pub async fn write_foreground_runs(
        &self,
        owner: &str,
        lease: Duration,
        new: &[ForegroundRun],
        changed: &[ForegroundRun],
    ) -> Result<Vec<String>> {
        let mut tx = self.db().begin().await?;
        if !new.is_empty() {
            insert_rows(&mut tx, owner, new).await?;
            // Their leases begin now, on the clock of the database.
            let sql = extend_leases(&tx, lease).push_bind(" WHERE owner = ", owner);
            tx.execute(sql.push(" AND lease_until = 0")).await?;
        }
        let mut gone = Vec::new();
        for run in changed {
            let mut sql = Sql::new("UPDATE foreground_runs SET ");
            for (column, value) in CHANGING.into_iter().zip(run.changing_values()) {
                sql = sql.push_bind(column, value);
            }
            let sql = sql.push_bind(" WHERE id = ", &run.id);
            if tx.execute(sql.push_bind(" AND owner = ", owner)).await? == 0 {
                gone.push(run.id.clone());
            }
        }
        tx.commit().await?;
        Ok(gone)
    }

    /// Extends the lease of a server on all its rows, and returns how many there are.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn renew_foreground_runs(&self, owner: &str, lease: Duration) -> Result<u64> {
        let mut tx = self.db().begin().await?;
        let sql = extend_leases(&tx, lease).push_bind(" WHERE owner = ", owner);
        let renewed = tx.execute(sql).await?;
        tx.commit().await?;
        Ok(renewed)
    }
}

async fn insert_rows(tx: &mut Tx, owner: &str, new: &[ForegroundRun]) -> Result<()> {
    let rows = new.iter().map(|run| {
        let mut row = run.values();
        row.extend([owner.into(), 0.into(), 0.into()]);
        row
    });
    let sql = Sql::new("INSERT INTO foreground_runs (")
        .push(COLUMNS)
        .push(", owner, seen_at, lease_until) VALUES ")
        .push_rows(rows)
        // A row whose writing seemed to fail, and did not, is written again.
        .push(
            " ON CONFLICT (id) DO UPDATE SET provider = excluded.provider,
                upstream_model = excluded.upstream_model, turns = excluded.turns,
                calls = excluded.calls, unpriced = excluded.unpriced,
                input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
                cache_read_tokens = excluded.cache_read_tokens,
                cache_write_tokens = excluded.cache_write_tokens,
                cost_nanos = excluded.cost_nanos, container = excluded.container,
                usage = excluded.usage, skills = excluded.skills, files = excluded.files,
                sandbox_ms = excluded.sandbox_ms, skill_costs = excluded.skill_costs
              WHERE foreground_runs.tenant = excluded.tenant",
        );
    tx.execute(sql).await.map(drop)
}

fn extend_leases(tx: &Tx, lease: Duration) -> Sql {
    let clock = tx.database().clock();
    let micros = i64::try_from(lease.as_micros()).unwrap_or(i64::MAX / 4);
    Sql::new("UPDATE foreground_runs SET seen_at = ")
        .push(clock)
        .push(", lease_until = ")
        .push(clock)
        .push_bind(" + ", micros)
}
