//! What some skills took, by their ids: reads nothing of others.

use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::skill_cost::SkillCost;
use super::sums::{from_row, push_sums};

/// What one skill took in a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSkillCost {
    /// Its runs, tokens, money and time.
    pub cost: SkillCost,
    /// When it was last used, within the period. Of merged days, only the day is exact.
    pub last_used_at: Option<Timestamp>,
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
    ) -> Result<Vec<NamedSkillCost>> {
        if skills.is_empty() {
            return Ok(Vec::new());
        }
        let sql = select_sums_of(tenant, since.day_start(), skills);
        let rows = self.db().fetch_all(sql).await?;
        let costs = rows.iter().map(|row| {
            Ok(NamedSkillCost {
                cost: from_row(row)?,
                last_used_at: row.optional_time("last_used_at")?,
            })
        });
        costs.collect()
    }
}

fn select_sums_of(tenant: &TenantId, since: Timestamp, skills: &[&str]) -> Sql {
    let sql = Sql::new(
        "SELECT skill_id, MAX(skill) AS skill,
                MAX(CASE WHEN runs_used > 0 THEN created_at END) AS last_used_at",
    );
    push_sums(sql)
        .push_bind(" FROM skill_costs WHERE tenant = ", tenant.as_str())
        .push(" AND skill_id IN ")
        .push_list(skills.iter().copied())
        .push_bind(" AND created_at >= ", since)
        .push(" GROUP BY skill_id ORDER BY skill_id")
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
