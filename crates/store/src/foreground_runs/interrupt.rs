//! Recording the foreground runs of servers that died.

use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::usage::insert_usage;

use super::row::interrupted_usage;

/// Runs recorded in one transaction.
const BATCH_RUNS: i64 = 100;

const RECORD_ROWS: &str = "INSERT INTO runs (id, tenant, model, provider, dialect, status, turns,
        calls, input_tokens, output_tokens, started_at, ended_at, session, error, usage, skills,
        files, events)
    SELECT id, tenant, model, NULLIF(provider, ''), dialect, 'interrupted', turns, calls,
        input_tokens + cache_read_tokens + cache_write_tokens, output_tokens, started_at,
        CASE WHEN seen_at < started_at THEN started_at ELSE seen_at END, container,
        'the server stopped before the run ended', usage, skills, files, '[]'
    FROM foreground_runs WHERE id IN ";

impl Store {
    /// Records the runs of servers whose lease has run out as interrupted, with their usage,
    /// and returns how many. Several servers may do so at once: each run is recorded by one of
    /// them. The caller's own runs are left alone, however late it renews their lease.
    ///
    /// # Errors
    /// When the store cannot be written. Runs that were not recorded are found again.
    pub async fn record_interrupted_runs(&self, caller: &str) -> Result<u64> {
        let mut recorded = 0;
        loop {
            let batch = self.record_interrupted_batch(caller).await?;
            recorded += batch;
            if batch < BATCH_RUNS.unsigned_abs() {
                return Ok(recorded);
            }
        }
    }

    async fn record_interrupted_batch(&self, caller: &str) -> Result<u64> {
        let lost = |sql: Sql| {
            sql.push(self.db().database().clock())
                .push_bind(" AND owner <> ", caller)
        };
        // Almost always there are none, and then nothing is locked.
        let sql = Sql::new("SELECT id FROM foreground_runs WHERE lease_until <= ");
        let sql = lost(sql).push(" LIMIT 1");
        if self.db().fetch_optional(sql).await?.is_none() {
            return Ok(0);
        }
        let mut tx = self.db().begin().await?;
        let sql = Sql::new("SELECT id FROM foreground_runs WHERE lease_until <= ");
        let sql = lost(sql).push_bind(" ORDER BY id LIMIT ", BATCH_RUNS);
        let rows = tx.fetch_all(sql.for_update_skip_locked()).await?;
        let ids = rows.iter().map(|row| row.text("id"));
        let ids = ids.collect::<Result<Vec<_>>>()?;
        if ids.is_empty() {
            tx.rollback().await;
            return Ok(0);
        }
        let sql = Sql::new(RECORD_ROWS).push_list(&ids);
        tx.execute(sql.push(" ON CONFLICT (id) DO NOTHING")).await?;
        let sql = Sql::new("DELETE FROM foreground_runs WHERE id IN ").push_list(&ids);
        let sql = sql.push(
            " RETURNING tenant, api_key, dialect, model, status, provider, upstream_model,
                unpriced, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
                cost_nanos, started_at, seen_at, sandbox_ms, skill_costs",
        );
        let rows = tx.fetch_all(sql).await?;
        let usage = rows.iter().map(interrupted_usage);
        let usage = usage.collect::<Result<Vec<_>>>()?;
        insert_usage(&mut tx, &usage).await?;
        tx.commit().await?;
        Ok(ids.len() as u64)
    }
}
