//! Rows of what skills took, written together with the usage that they are a part of.

use crate::db::{Sql, SqlValue, Tx};
use crate::error::Result;
use crate::tenant::TenantId;
use crate::time::Timestamp;
use crate::usage::stored_count;

use super::skill_cost::SkillCost;

/// Rows of one statement: both databases limit the values of one.
const BATCH_ROWS: usize = 500;
/// Characters of a name; names of skills that are not stored come from clients.
const MAX_NAME_CHARS: usize = 200;

/// The columns that are added up, in the order of [`counts`].
pub(super) const COUNTS: [&str; 20] = [
    "runs_offered",
    "runs_loaded",
    "runs_used",
    "runs_in_vain",
    "offered_input_tokens",
    "offered_output_tokens",
    "offered_cache_read_tokens",
    "offered_cache_write_tokens",
    "offered_cost_nanos",
    "loaded_input_tokens",
    "loaded_output_tokens",
    "loaded_cache_read_tokens",
    "loaded_cache_write_tokens",
    "loaded_cost_nanos",
    "used_input_tokens",
    "used_output_tokens",
    "used_cache_read_tokens",
    "used_cache_write_tokens",
    "used_cost_nanos",
    "sandbox_ms",
];

/// Appends the names of [`COUNTS`].
pub(super) fn push_counts(mut sql: Sql) -> Sql {
    for column in COUNTS {
        sql = sql.push(", ").push(column);
    }
    sql
}

/// Writes rows within a transaction.
pub(crate) async fn insert_skill_costs(
    tx: &mut Tx,
    costs: &[(&TenantId, &SkillCost)],
    now: Timestamp,
) -> Result<()> {
    for batch in costs.chunks(BATCH_ROWS) {
        let sql = Sql::new("INSERT INTO skill_costs (tenant, skill_id, skill, merged, created_at");
        let sql = push_counts(sql).push(") VALUES ");
        let values = batch.iter().map(|(tenant, cost)| values(tenant, cost, now));
        tx.execute(sql.push_rows(values)).await?;
    }
    Ok(())
}

fn values(tenant: &TenantId, cost: &SkillCost, now: Timestamp) -> Vec<SqlValue> {
    let name = cost.skill.chars().filter(|c| *c != '\0');
    let mut row = vec![
        tenant.as_str().into(),
        cost.skill_id.as_deref().unwrap_or_default().into(),
        name.take(MAX_NAME_CHARS).collect::<String>().into(),
        0.into(),
        now.into(),
    ];
    row.extend(counts(cost).map(SqlValue::from));
    row
}

fn counts(cost: &SkillCost) -> [i64; 20] {
    let [oi, oo, or, ow, oc] = cost.offered.counts().map(stored_count);
    let [li, lo, lr, lw, lc] = cost.loaded.counts().map(stored_count);
    let [ui, uo, ur, uw, uc] = cost.used.counts().map(stored_count);
    let runs = &cost.runs;
    [
        stored_count(runs.offered),
        stored_count(runs.loaded),
        stored_count(runs.used),
        runs.in_vain,
        oi,
        oo,
        or,
        ow,
        oc,
        li,
        lo,
        lr,
        lw,
        lc,
        ui,
        uo,
        ur,
        uw,
        uc,
        stored_count(cost.sandbox_millis),
    ]
}
