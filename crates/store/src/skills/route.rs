//! Routing: the skills of a tenant that fit a task, as a catalogue shows them.

use prowess_ranking::MatchedWord;

use crate::Store;
use crate::error::Result;
use crate::skill_index::{Explanation, check_query};
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
    /// Whether models may load it by themselves: others are in no catalogue.
    pub models_may_load: bool,
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
        let numbers: Vec<i64> = ranked.iter().map(|document| document.number).collect();
        let found = self.routed_documents(tenant, &numbers).await?;
        let routed = ranked.into_iter().filter_map(|ranked| {
            let document = found.get(&ranked.number)?;
            Some(RoutedSkill {
                skill_id: document.skill_id.clone(),
                version_id: document.version_id.clone(),
                name: document.name.clone(),
                description: document.description.clone(),
                when_to_use: document.when_to_use.clone(),
                models_may_load: document.models_may_load,
                score: ranked.score,
                similarity: ranked.similarity,
                matched: ranked.matched,
            })
        });
        Ok(routed.collect())
    }
}
