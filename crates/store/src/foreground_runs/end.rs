//! Ending foreground runs: the record and the usage take the place of the row.

use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::Result;
use crate::runs::{NewRun, insert_records};
use crate::skill_costs::subtract_skill_costs;
use crate::tenant::TenantId;
use crate::usage::{UsageRow, insert_usage};

/// A foreground run that has ended, and that may have a row.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedForegroundRun {
    /// Its tenant.
    pub tenant: TenantId,
    /// Its record.
    pub record: NewRun,
    /// What it used, if anybody counts it.
    pub usage: Option<UsageRow>,
    /// The usage in its row, as last written; none if it is not certain that it has one.
    pub stored_usage: Option<UsageRow>,
}

impl Store {
    /// Writes records and usage of runs that have ended, and removes their rows, in one
    /// transaction. If another server has recorded one as interrupted meanwhile, its record is
    /// replaced, and only the usage since then is added.
    ///
    /// # Errors
    /// When the store cannot be written. Whether the runs were ended is then unknown; the same
    /// runs may be ended again.
    pub async fn end_foreground_runs(&self, ended: &[EndedForegroundRun]) -> Result<()> {
        let mut tx = self.db().begin().await?;
        let mut usage = Vec::new();
        for run in ended {
            let had_row = delete_row(&mut tx, &run.record.id).await?;
            if !had_row && was_ended(&mut tx, &run.record.id).await? {
                continue;
            }
            usage.extend(match (&run.usage, &run.stored_usage) {
                (Some(used), Some(stored)) if !had_row => subtract(used, stored),
                (used, _) => used.clone(),
            });
        }
        let records = ended.iter().map(|run| {
            let usage = run.usage.as_ref().or(run.stored_usage.as_ref());
            let key = usage.and_then(|usage| usage.key.as_deref());
            (&run.tenant, &run.record, key)
        });
        let records: Vec<_> = records.collect();
        insert_records(&mut tx, &records).await?;
        insert_usage(&mut tx, &usage).await?;
        tx.commit().await
    }
}

async fn delete_row(tx: &mut Tx, id: &str) -> Result<bool> {
    let sql = Sql::new("DELETE FROM foreground_runs WHERE id = ").push_bind("", id);
    Ok(tx.execute(sql).await? == 1)
}

/// Whether the run was ended before, by a transaction that seemed to fail. One that another
/// server has ended is recorded as interrupted.
async fn was_ended(tx: &mut Tx, id: &str) -> Result<bool> {
    let sql = Sql::new("SELECT id FROM runs WHERE id = ").push_bind("", id);
    let sql = sql.push(" AND status <> 'interrupted'");
    Ok(tx.fetch_optional(sql).await?.is_some())
}

/// What was used after `stored`, if anything.
fn subtract(used: &UsageRow, stored: &UsageRow) -> Option<UsageRow> {
    let rest = UsageRow {
        requests: used.requests.saturating_sub(stored.requests),
        unpriced: used.unpriced.saturating_sub(stored.unpriced),
        estimated: used.estimated.saturating_sub(stored.estimated),
        input_tokens: used.input_tokens.saturating_sub(stored.input_tokens),
        output_tokens: used.output_tokens.saturating_sub(stored.output_tokens),
        cache_read_tokens: used
            .cache_read_tokens
            .saturating_sub(stored.cache_read_tokens),
        cache_write_tokens: used
            .cache_write_tokens
            .saturating_sub(stored.cache_write_tokens),
        cost_nanos: used.cost_nanos.saturating_sub(stored.cost_nanos),
        millis: used.millis.saturating_sub(stored.millis),
        sandbox_millis: used.sandbox_millis.saturating_sub(stored.sandbox_millis),
        skills: subtract_skill_costs(&used.skills, &stored.skills),
        ..used.clone()
    };
    let tokens = [
        rest.input_tokens,
        rest.output_tokens,
        rest.cache_read_tokens,
        rest.cache_write_tokens,
    ];
    let counts = [rest.requests, rest.cost_nanos, rest.sandbox_millis];
    let is_used = counts.iter().chain(&tokens).any(|n| *n > 0) || !rest.skills.is_empty();
    is_used.then_some(rest)
}
