//! The sums of a period: every skill, and what no skill took.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::Store;
use crate::db::{DbRow, Sql};
use crate::error::Result;
use crate::past_hours::PastHours;
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::period_costs::PeriodCosts;
use super::skill_cost::{OTHER_SKILLS, PartCost, RunCounts, SkillCost};
use super::write::COUNTS;
use futures_util::future::BoxFuture;

/// Skills that are read of a part of a period, those that cost most. With more, parts cannot be
/// added up, and every report reads the whole period.
const MAX_READ_SKILLS: usize = 30_000;

/// What skills took in a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillCostSums {
    /// The beginning of the period, which is that of a day.
    pub since: Timestamp,
    /// Every skill, by name. The last is named `(other)` if there are more than the limit.
    pub skills: Vec<SkillCost>,
    /// What no skill took.
    pub no_skill: PartCost,
    /// Time in the sandbox that no skill took.
    pub no_skill_sandbox_millis: u64,
    /// All usage of the period: that of every skill and of no skill together.
    pub total: PartCost,
    /// All time in the sandbox.
    pub total_sandbox_millis: u64,
    /// All requests, with or without skills.
    pub requests: u64,
}

impl SkillCostSums {
    /// The name of this grouping, which is no column of usage.
    pub const GROUPING: &str = "skill";
    /// Skills that are returned at most.
    pub const MAX_SKILLS: usize = 10_000;

    /// Of more than `limit` skills, those that cost most; what the others took is one entry.
    fn new(costs: PeriodCosts, since: Timestamp, limit: usize) -> SkillCostSums {
        let PeriodCosts {
            mut skills,
            all,
            total,
            total_sandbox_millis,
            requests,
        } = costs;
        // Rows may have the name of the rest too: they are a part of it.
        skills.retain(|skill| skill.key() != (OTHER_SKILLS, None));
        if skills.len() > limit {
            // The sort is stable: among equals, the first names stay.
            skills.sort_by_key(|skill| Reverse(skill.total().cost_nanos));
            skills.truncate(limit);
            skills.sort_by(|a, b| a.key().cmp(&b.key()));
        }
        let mut rest = SkillCost::new(OTHER_SKILLS, None);
        rest.add(&all);
        for skill in &skills {
            rest = rest.since(skill);
        }
        if !rest.is_nothing() {
            skills.push(rest);
        }
        SkillCostSums {
            since,
            skills,
            no_skill: total.since(&all.total()),
            no_skill_sandbox_millis: total_sandbox_millis.saturating_sub(all.sandbox_millis),
            total,
            total_sandbox_millis,
            requests,
        }
    }
}

impl Store {
    /// What every skill took since the beginning of a day, and what no skill took. The sums of
    /// `tenant`, or of all. Of more than `limit` skills, those that cost most.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn skill_costs<'a>(
        &'a self,
        tenant: Option<&'a TenantId>,
        since: Timestamp,
        limit: usize,
    ) -> BoxFuture<'a, Result<SkillCostSums>> {
        Box::pin(async move {
            let since = since.day_start();
            let costs = match PastHours::within(since, Timestamp::now()) {
                None => self.period_costs(tenant, since, None).await?,
                Some(past) => {
                    let mut costs = self.period_costs(tenant, past.end, None).await?;
                    let before = self.past_costs(tenant, past).await?;
                    // A part that was cut may lack a skill that the other one has.
                    if costs.skills.len().max(before.skills.len()) < MAX_READ_SKILLS {
                        costs.add(&before);
                        costs
                    } else {
                        self.period_costs(tenant, since, None).await?
                    }
                }
            };
            let limit = limit.min(SkillCostSums::MAX_SKILLS);
            Ok(SkillCostSums::new(costs, since, limit))
        })
    }

    async fn past_costs(
        &self,
        tenant: Option<&TenantId>,
        hours: PastHours,
    ) -> Result<Arc<PeriodCosts>> {
        let key = (tenant.map(|tenant| tenant.as_str().to_owned()), hours);
        let cache = &self.past_costs_cache().0.0;
        if let Some(costs) = cache.get(&key).await {
            return Ok(costs);
        }
        let costs = self.period_costs(tenant, hours.start, Some(hours.end));
        let costs = Arc::new(costs.await?);
        cache.insert(key, Arc::clone(&costs)).await;
        Ok(costs)
    }

    /// The costs of a part of the period.
    async fn period_costs(
        &self,
        tenant: Option<&TenantId>,
        from: Timestamp,
        before: Option<Timestamp>,
    ) -> Result<PeriodCosts> {
        let rows = self.db().fetch_all(select_sums(tenant, from, before));
        let mut costs = PeriodCosts::default();
        for row in &rows.await? {
            let cost = from_row(row)?;
            match row.text("kind")?.as_str() {
                "skill" => costs.skills.push(cost),
                "skills" => costs.all = cost,
                // The usage is in the columns of one part.
                _ => {
                    costs.total = cost.offered;
                    costs.total_sandbox_millis = cost.sandbox_millis;
                    costs.requests = cost.runs.offered;
                }
            }
        }
        costs.skills.sort_by(|a, b| a.key().cmp(&b.key()));
        Ok(costs)
    }
}

/// One statement, because what is written between two would be counted by one of them only.
fn select_sums(tenant: Option<&TenantId>, from: Timestamp, before: Option<Timestamp>) -> Sql {
    let within = |sql: Sql| {
        let mut sql = sql.push_bind(" WHERE created_at >= ", from);
        if let Some(before) = before {
            sql = sql.push_bind(" AND created_at < ", before);
        }
        match tenant {
            Some(tenant) => sql.push_bind(" AND tenant = ", tenant.as_str()),
            None => sql,
        }
    };
    let sql = Sql::new("SELECT * FROM (SELECT 'skill' AS kind, skill_id, skill");
    let sql = within(push_sums(sql).push(" FROM skill_costs"));
    let sql = sql.push_bind(
        " GROUP BY skill_id, skill
          ORDER BY SUM(offered_cost_nanos + loaded_cost_nanos + used_cost_nanos) DESC,
                   skill, skill_id
          LIMIT ",
        i64::try_from(MAX_READ_SKILLS).unwrap_or(i64::MAX),
    );
    let sql = sql.push(") AS each_skill UNION ALL SELECT 'skills', '', ''");
    let sql = within(push_sums(sql).push(" FROM skill_costs"));
    let sql = sql.push(
        " UNION ALL SELECT 'usage', '', '',
            CAST(COALESCE(SUM(requests), 0) AS BIGINT),
            CAST(0 AS BIGINT), CAST(0 AS BIGINT), CAST(0 AS BIGINT),
            CAST(COALESCE(SUM(input_tokens), 0) AS BIGINT),
            CAST(COALESCE(SUM(output_tokens), 0) AS BIGINT),
            CAST(COALESCE(SUM(cache_read_tokens), 0) AS BIGINT),
            CAST(COALESCE(SUM(cache_write_tokens), 0) AS BIGINT),
            CAST(COALESCE(SUM(cost_nanos), 0) AS BIGINT),
            CAST(0 AS BIGINT), CAST(0 AS BIGINT), CAST(0 AS BIGINT), CAST(0 AS BIGINT),
            CAST(0 AS BIGINT), CAST(0 AS BIGINT), CAST(0 AS BIGINT), CAST(0 AS BIGINT),
            CAST(0 AS BIGINT), CAST(0 AS BIGINT),
            CAST(COALESCE(SUM(sandbox_ms), 0) AS BIGINT)
          FROM usage",
    );
    within(sql)
}

/// Appends the sums of all counts.
pub(super) fn push_sums(mut sql: Sql) -> Sql {
    for column in COUNTS {
        sql = sql.push(", CAST(COALESCE(SUM(").push(column);
        sql = sql.push("), 0) AS BIGINT) AS ").push(column);
    }
    sql
}

/// From a row with these sums.
pub(super) fn from_row(row: &DbRow) -> Result<SkillCost> {
    let count = |column| -> Result<u64> { Ok(u64::try_from(row.int(column)?).unwrap_or_default()) };
    let id = row.text("skill_id")?;
    Ok(SkillCost {
        skill: row.text("skill")?,
        skill_id: (!id.is_empty()).then_some(id),
        runs: RunCounts {
            offered: count("runs_offered")?,
            loaded: count("runs_loaded")?,
            used: count("runs_used")?,
            in_vain: row.int("runs_in_vain")?,
        },
        offered: PartCost {
            input_tokens: count("offered_input_tokens")?,
            output_tokens: count("offered_output_tokens")?,
            cache_read_tokens: count("offered_cache_read_tokens")?,
            cache_write_tokens: count("offered_cache_write_tokens")?,
            cost_nanos: count("offered_cost_nanos")?,
        },
        loaded: PartCost {
            input_tokens: count("loaded_input_tokens")?,
            output_tokens: count("loaded_output_tokens")?,
            cache_read_tokens: count("loaded_cache_read_tokens")?,
            cache_write_tokens: count("loaded_cache_write_tokens")?,
            cost_nanos: count("loaded_cost_nanos")?,
        },
        used: PartCost {
            input_tokens: count("used_input_tokens")?,
            output_tokens: count("used_output_tokens")?,
            cache_read_tokens: count("used_cache_read_tokens")?,
            cache_write_tokens: count("used_cache_write_tokens")?,
            cost_nanos: count("used_cost_nanos")?,
        },
        sandbox_millis: count("sandbox_ms")?,
    })
}
