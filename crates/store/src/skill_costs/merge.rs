//! Merging the rows of days that are over: a run adds a row for each skill that it offers, which
//! would be too many to keep for as long as usage is kept. Sums by day stay what they are.

use std::time::Duration;

use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::Result;
use crate::time::{DAY_MICROS, Timestamp};

use super::write::{COUNTS, push_counts};

/// How long after a day its rows are taken as final: writers may be late, and clocks differ.
const SETTLED_AFTER: Duration = Duration::from_secs(2 * 24 * 3600);
/// Days of tenants that one collection merges.
const MAX_DAYS: i64 = 1_000;

impl Store {
    /// Merges the rows of days that have been over for some time.
    pub(crate) async fn merge_skill_costs(&self, now: Timestamp) -> Result<()> {
        let before = now.before(SETTLED_AFTER).day_start();
        let sql = Sql::new(
            "SELECT DISTINCT tenant, created_at / 86400000000 AS day FROM skill_costs
             WHERE merged = 0",
        );
        let sql = sql.push_bind(" AND created_at < ", before);
        let sql = sql.push_bind(" LIMIT ", MAX_DAYS);
        for row in self.db().fetch_all(sql).await? {
            let mut tx = self.db().begin().await?;
            merge_day(&mut tx, &row.text("tenant")?, row.int("day")?).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    pub(crate) async fn drop_old_skill_costs(&self, before: Timestamp) -> Result<u64> {
        let sql = Sql::new("DELETE FROM skill_costs WHERE created_at < $1");
        self.db().execute(sql.bind(before)).await
    }
}

/// Rows are marked first: another process that does the same waits for them, and then finds
/// none that is not merged.
async fn merge_day(tx: &mut Tx, tenant: &str, day: i64) -> Result<()> {
    let start = day.saturating_mul(DAY_MICROS);
    let end = start.saturating_add(DAY_MICROS);
    let of_day = |sql: Sql| {
        sql.push_bind(" AND tenant = ", tenant)
            .push_bind(" AND created_at >= ", start)
            .push_bind(" AND created_at < ", end)
    };
    let sql = of_day(Sql::new(
        "UPDATE skill_costs SET merged = 2 WHERE merged = 0",
    ));
    if tx.execute(sql).await? == 0 {
        return Ok(());
    }
    let sql = Sql::new("INSERT INTO skill_costs (tenant, skill_id, skill, merged, created_at");
    let mut sql = push_counts(sql).push(") SELECT tenant, skill_id, skill, 1, MAX(created_at)");
    for column in COUNTS {
        sql = sql.push(", CAST(SUM(").push(column).push(") AS BIGINT)");
    }
    let sql = of_day(sql.push(" FROM skill_costs WHERE merged = 2"));
    tx.execute(sql.push(" GROUP BY tenant, skill_id, skill"))
        .await?;
    let sql = of_day(Sql::new("DELETE FROM skill_costs WHERE merged = 2"));
    tx.execute(sql).await.map(drop)
}
