//! Which skills of a tenant were offered, loaded and used in runs, and which never.

use crate::Store;
use crate::db::{DbRow, Sql};
use crate::error::Result;
use crate::page::{MAX_PAGE_OFFSET, PageCursor, PagePosition, PageRequest, RecordPage, SortOrder};
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::skill_cost::RunCounts;

/// How a skill was used in a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRuns {
    /// `skill_…`.
    pub id: String,
    /// Its name; of a deleted one, the name that it had.
    pub name: String,
    /// Whether it was deleted meanwhile.
    pub is_deleted: bool,
    /// In how many runs it was offered, loaded and used.
    pub runs: RunCounts,
    /// When it was last offered, within the period.
    pub last_offered_at: Option<Timestamp>,
    /// When it was last loaded.
    pub last_loaded_at: Option<Timestamp>,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
}

/// Which skills to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillRunsFilter {
    /// Those that no run offered.
    NeverOffered,
    /// Those that no run loaded.
    NeverLoaded,
    /// Those that a run loaded without using them.
    LoadedInVain,
}

impl SkillRunsFilter {
    /// All of them.
    pub const ALL: [SkillRunsFilter; 3] = [
        SkillRunsFilter::NeverOffered,
        SkillRunsFilter::NeverLoaded,
        SkillRunsFilter::LoadedInVain,
    ];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            SkillRunsFilter::NeverOffered => "never_offered",
            SkillRunsFilter::NeverLoaded => "never_loaded",
            SkillRunsFilter::LoadedInVain => "loaded_in_vain",
        }
    }

    /// Parses a name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        SkillRunsFilter::ALL
            .into_iter()
            .find(|filter| filter.as_str() == text)
    }

    fn condition(self) -> &'static str {
        match self {
            SkillRunsFilter::NeverOffered => " AND runs_offered = 0",
            SkillRunsFilter::NeverLoaded => " AND runs_loaded = 0",
            SkillRunsFilter::LoadedInVain => " AND runs_in_vain > 0",
        }
    }
}

impl Store {
    /// A page of the tenant's skills with what runs since the beginning of a day did with them,
    /// by id. Deleted skills are among them if there were such runs.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list_skill_runs(
        &self,
        tenant: &TenantId,
        since: Timestamp,
        filter: Option<SkillRunsFilter>,
        page: &PageRequest,
    ) -> Result<RecordPage<SkillRuns>> {
        let sql = select_page(tenant, since.day_start(), filter, page);
        let rows = self.db().fetch_all(sql).await?;
        let skills = rows.iter().map(SkillRuns::from_row);
        let skills = skills.collect::<Result<_>>()?;
        Ok(RecordPage::from_fetched(
            skills,
            page,
            |skill: &SkillRuns| PageCursor::from_id(&skill.id),
        ))
    }
}

fn select_page(
    tenant: &TenantId,
    since: Timestamp,
    filter: Option<SkillRunsFilter>,
    page: &PageRequest,
) -> Sql {
    let upwards = match page.from {
        PagePosition::Before(_) => page.order == SortOrder::Descending,
        _ => page.order == SortOrder::Ascending,
    };
    let sql = Sql::new(
        "WITH counted AS (
            SELECT skill_id, MAX(skill) AS name,
                CAST(SUM(runs_offered) AS BIGINT) AS runs_offered,
                CAST(SUM(runs_loaded) AS BIGINT) AS runs_loaded,
                CAST(SUM(runs_used) AS BIGINT) AS runs_used,
                CAST(SUM(runs_in_vain) AS BIGINT) AS runs_in_vain,
                MAX(CASE WHEN runs_offered > 0 THEN created_at END) AS last_offered_at,
                MAX(CASE WHEN runs_loaded > 0 THEN created_at END) AS last_loaded_at,
                MAX(CASE WHEN runs_used > 0 THEN created_at END) AS last_used_at
            FROM skill_costs WHERE skill_id <> ''",
    );
    let sql = sql.push_bind(" AND tenant = ", tenant.as_str());
    let sql = sql.push_bind(" AND created_at >= ", since);
    let sql = sql.push(
        " GROUP BY skill_id)
        SELECT * FROM (
            SELECT s.id AS id, s.name AS name, CAST(0 AS BIGINT) AS is_deleted,
                COALESCE(c.runs_offered, 0) AS runs_offered,
                COALESCE(c.runs_loaded, 0) AS runs_loaded,
                COALESCE(c.runs_used, 0) AS runs_used,
                COALESCE(c.runs_in_vain, 0) AS runs_in_vain,
                c.last_offered_at, c.last_loaded_at, c.last_used_at
            FROM skills s LEFT JOIN counted c ON c.skill_id = s.id
            WHERE s.tenant = ",
    );
    let sql = sql.push_bind("", tenant.as_str());
    let sql = sql.push(
        " UNION ALL
            SELECT c.skill_id, c.name, CAST(1 AS BIGINT), c.runs_offered, c.runs_loaded,
                c.runs_used, c.runs_in_vain, c.last_offered_at, c.last_loaded_at, c.last_used_at
            FROM counted c
            WHERE NOT EXISTS (SELECT 1 FROM skills s WHERE s.id = c.skill_id)
        ) AS found WHERE id <> ''",
    );
    let mut sql = match filter {
        Some(filter) => sql.push(filter.condition()),
        None => sql,
    };
    if let PagePosition::After(cursor) | PagePosition::Before(cursor) = &page.from {
        let after = if upwards { " AND id > " } else { " AND id < " };
        sql = sql.push_bind(after, cursor.id());
    }
    let by_id = if upwards {
        " ORDER BY id LIMIT "
    } else {
        " ORDER BY id DESC LIMIT "
    };
    sql = sql.push_bind(by_id, page.fetch_limit());
    match page.from {
        PagePosition::Offset(count) => {
            sql.push_bind(" OFFSET ", i64::from(count.min(MAX_PAGE_OFFSET)))
        }
        _ => sql,
    }
}

impl SkillRuns {
    fn from_row(row: &DbRow) -> Result<Self> {
        let count = |column| -> Result<u64> {
            let count = row.int(column)?;
            Ok(u64::try_from(count).unwrap_or_default())
        };
        Ok(SkillRuns {
            id: row.text("id")?,
            name: row.text("name")?,
            is_deleted: row.flag("is_deleted")?,
            runs: RunCounts {
                offered: count("runs_offered")?,
                loaded: count("runs_loaded")?,
                used: count("runs_used")?,
                in_vain: row.int("runs_in_vain")?,
            },
            last_offered_at: row.optional_time("last_offered_at")?,
            last_loaded_at: row.optional_time("last_loaded_at")?,
            last_used_at: row.optional_time("last_used_at")?,
        })
    }
}
