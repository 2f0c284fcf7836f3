//! The sums of a period: every skill, and what no skill took.

use crate::Store;
use crate::db::{DbRow, Sql};
use crate::error::Result;
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::DAY_MICROS;
use super::skill_cost::{OTHER_SKILLS, PartCost, RunCounts, SkillCost};
use super::write::COUNTS;

/// Skills that are returned; what further ones took is one row.
const MAX_GROUPS: i64 = 10_000;

/// What skills took in a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillCostSums {
    /// The beginning of the period, which is that of a day.
    pub since: Timestamp,
    /// Every skill, by name. The last is named `(other)` if there are too many.
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
}

impl Store {
    /// What every skill took since the beginning of a day, and what no skill took. The sums of
    /// `tenant`, or of all.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn skill_costs(
        &self,
        tenant: Option<&TenantId>,
        since: Timestamp,
    ) -> Result<SkillCostSums> {
        let since = since.day_start();
        let rows = self.db().fetch_all(select_sums(tenant, since)).await?;
        let mut skills: Vec<SkillCost> = Vec::new();
        let mut all = SkillCost::new(OTHER_SKILLS, None);
        let (mut total, mut total_sandbox_millis, mut requests) = (PartCost::default(), 0, 0);
        for row in &rows {
            let cost = from_row(row)?;
            match row.text("kind")?.as_str() {
                "skill" => skills.push(cost),
                "skills" => all = cost,
                // The usage is in the columns of one part.
                _ => {
                    total = cost.offered;
                    total_sandbox_millis = cost.sandbox_millis;
                    requests = cost.runs.offered;
                }
            }
        }
        skills.sort_by(|a, b| (&a.skill, &a.skill_id).cmp(&(&b.skill, &b.skill_id)));
        let no_skill = total.since(&all.total());
        let no_skill_sandbox_millis = total_sandbox_millis.saturating_sub(all.sandbox_millis);
        let mut rest = SkillCost::new(OTHER_SKILLS, None);
        rest.add(&all);
        for skill in &skills {
            rest = rest.since(skill);
        }
        if !rest.is_nothing() {
            skills.push(rest);
        }
        Ok(SkillCostSums {
            since,
            skills,
            no_skill,
            no_skill_sandbox_millis,
            total,
            total_sandbox_millis,
            requests,
        })
    }
}

impl Store {
    /// What some of the tenant's skills took since the beginning of a day, by id. Those that
    /// took nothing are left out. Unlike [`Store::skill_costs`], it reads nothing of others.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn skill_costs_of(
        &self,
        tenant: &TenantId,
        since: Timestamp,
        skills: &[&str],
    ) -> Result<Vec<SkillCost>> {
        if skills.is_empty() {
            return Ok(Vec::new());
        }
        let sql = select_sums_of(tenant, since.day_start(), skills);
        let rows = self.db().fetch_all(sql).await?;
        rows.iter().map(from_row).collect()
    }
}

fn select_sums_of(tenant: &TenantId, since: Timestamp, skills: &[&str]) -> Sql {
    push_sums(Sql::new("SELECT skill_id, MAX(skill) AS skill"))
        .push_bind(" FROM skill_costs WHERE tenant = ", tenant.as_str())
        .push(" AND skill_id IN ")
        .push_list(skills.iter().copied())
        .push_bind(" AND created_at >= ", since)
        .push(" GROUP BY skill_id ORDER BY skill_id")
}

/// One statement, because what is written between two would be counted by one of them only.
fn select_sums(tenant: Option<&TenantId>, since: Timestamp) -> Sql {
    let within = |sql: Sql| {
        let sql = sql.push_bind(" WHERE created_at >= ", since);
        match tenant {
            Some(tenant) => sql.push_bind(" AND tenant = ", tenant.as_str()),
            None => sql,
        }
    };
    let sql = Sql::new("SELECT * FROM (SELECT 'skill' AS kind, skill_id, skill");
    let sql = within(push_sums(sql).push(" FROM skill_costs"));
    let sql = sql.push_bind(
        " GROUP BY skill_id, skill ORDER BY skill, skill_id LIMIT ",
        MAX_GROUPS,
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

fn push_sums(mut sql: Sql) -> Sql {
    for column in COUNTS {
        sql = sql.push(", CAST(COALESCE(SUM(").push(column);
        sql = sql.push("), 0) AS BIGINT) AS ").push(column);
    }
    sql
}

fn from_row(row: &DbRow) -> Result<SkillCost> {
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

impl Timestamp {
    /// The beginning of its day in UTC.
    #[must_use]
    pub fn day_start(self) -> Timestamp {
        let micros = self.as_micros();
        Timestamp::from_micros(micros.saturating_sub(micros.rem_euclid(DAY_MICROS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::query_plan::assert_no_table_is_scanned;

    #[test]
    fn the_costs_of_a_few_skills_are_found_by_skill() {
        let (tenant, since) = (TenantId::default_tenant(), Timestamp::from_micros(0));
        let skills = ["skill_1", "skill_2"];
        let steps = assert_no_table_is_scanned([select_sums_of(&tenant, since, &skills)]);
        let by_skill = "skill_costs_by_skill (tenant=? AND skill_id=? AND created_at>?)";
        assert!(
            steps.iter().any(|step| step.ends_with(by_skill)),
            "{steps:#?}"
        );
    }
}
