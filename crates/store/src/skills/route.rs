//! Routing: the skills of a tenant that fit a task, as a catalogue shows them.

use std::collections::HashMap;

use prowess_ranking::MatchedWord;

use crate::Store;
use crate::db::{Database, Sql};
use crate::error::Result;
use crate::skill_index::{Explanation, check_query, number_list, when_to_use};
use crate::skill_vectors::SkillSearch;
use crate::tenant::TenantId;

/// Skills that one query returns at most.
pub const MAX_ROUTED_SKILLS: usize = 1_000;

/// A skill that fits a task, as a catalogue shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutedSkill {
    /// `skill_…`.
    pub skill_id: String,
    /// Its latest version: `skver_…`.
    pub version_id: String,
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// When to use it, if it says so apart from its description.
    pub when_to_use: Option<String>,
    /// How well it fits; comparable within one query only.
    pub score: f64,
    /// How similar its vector is to that of the query, if that counted.
    pub similarity: Option<f32>,
    /// The words of the query that it has; those that say most first.
    pub matched: Vec<MatchedWord>,
}

impl Store {
    /// The latest versions of the tenant's skills that fit a task best, best first; at most
    /// `limit`, and at most [`MAX_ROUTED_SKILLS`]. A skill needs only one of the words, or a
    /// similar vector. Reads no content.
    ///
    /// # Errors
    /// An empty query, or one of more than [`MAX_QUERY_CHARS`](crate::MAX_QUERY_CHARS), is
    /// invalid.
    pub async fn route_skills(
        &self,
        tenant: &TenantId,
        search: impl Into<SkillSearch<'_>>,
        limit: usize,
    ) -> Result<Vec<RoutedSkill>> {
        let SkillSearch { text, vector } = search.into();
        let (query, limit) = (check_query(text)?, limit.min(MAX_ROUTED_SKILLS));
        let explanation = Explanation::MatchedWords;
        let ranked = self
            .rank_documents(tenant, query, vector, limit, explanation)
            .await?;
        if ranked.is_empty() {
            return Ok(Vec::new());
        }
        let numbers = ranked.iter().map(|document| document.number);
        let sql = select_routed(self.db().database(), tenant, numbers);
        let mut rows = HashMap::new();
        for row in self.db().fetch_all(sql).await? {
            rows.insert(row.int("number")?, row);
        }
        let mut routed = Vec::with_capacity(ranked.len());
        for document in ranked {
            // One that was deleted or replaced meanwhile is left out.
            let Some(row) = rows.get(&document.number) else {
                continue;
            };
            routed.push(RoutedSkill {
                skill_id: row.text("id")?,
                version_id: row.text("version")?,
                name: row.text("name")?,
                description: row.text("description")?,
                when_to_use: when_to_use(&row.text("frontmatter")?)?,
                score: document.score,
                similarity: document.similarity,
                matched: document.matched,
            });
        }
        Ok(routed)
    }
}

fn select_routed(database: Database, tenant: &TenantId, numbers: impl Iterator<Item = i64>) -> Sql {
    match database {
        // CROSS JOIN fixes the order: the few documents first.
        Database::Sqlite => Sql::new(
            "SELECT d.number, s.id, s.name, v.id AS version, v.description, v.frontmatter
             FROM json_each($2) n CROSS JOIN skill_documents d CROSS JOIN skills s
                  CROSS JOIN versions v
             WHERE d.tenant = $1 AND d.number = n.value AND s.id = d.skill
               AND v.id = s.latest_version",
        ),
        Database::Postgres => Sql::new(
            "SELECT d.number, s.id, s.name, v.id AS version, v.description, v.frontmatter
             FROM skill_documents d JOIN skills s ON s.id = d.skill
                  JOIN versions v ON v.id = s.latest_version
             WHERE d.tenant = $1 AND d.number = ANY($2::bigint[])",
        ),
    }
    .bind(tenant.as_str())
    .bind(number_list(database, numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::query_plan::assert_no_table_is_scanned;

    #[test]
    fn routed_skills_are_read_by_their_numbers() {
        let tenant = TenantId::default_tenant();
        let steps = assert_no_table_is_scanned([select_routed(
            Database::Sqlite,
            &tenant,
            [1, 2].into_iter(),
        )]);
        let by_number = "skill_documents_by_number (tenant=? AND number=?)";
        assert!(
            steps.iter().any(|step| step.ends_with(by_number)),
            "{steps:#?}"
        );
    }
}
