//! Overlap: the skills of a tenant that are found instead of another, or close behind it, by
//! what that one says about when to use it.

use prowess_ranking::{
    MAX_QUERY_CHARS, MAX_SHARED_WORDS, MatchedWord, OVERLAP_DEPTH, OverlapRanks, find_rivals,
};
use prowess_skill::usage_text;
use serde_json::Value;

use super::record::SkillRecord;
use crate::Store;
use crate::error::Result;
use crate::tenant::TenantId;

/// A skill, and another that takes its queries.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillOverlap {
    /// `skill_…`.
    pub skill_id: String,
    /// Its name.
    pub name: String,
    /// The id of the other.
    pub rival_id: String,
    /// Its name.
    pub rival_name: String,
    /// The ranks of both.
    pub ranks: OverlapRanks,
    /// Words of the query that the other has; those that say most first.
    pub shared: Vec<MatchedWord>,
}

impl Store {
    /// The rivals of a skill in its latest version, the first in the ranking first. This is one
    /// search: what it costs does not depend on how many rivals there are. Reads no content.
    pub async fn skill_overlap(
        &self,
        tenant: &TenantId,
        skill: &SkillRecord,
    ) -> Result<Vec<SkillOverlap>> {
        let Some(latest) = &skill.latest else {
            return Ok(Vec::new());
        };
        let mut frontmatter = self.version_frontmatter(tenant, &[&latest.id]).await?;
        let frontmatter = frontmatter.remove(&latest.id).unwrap_or_default();
        let when = frontmatter.get("when_to_use").and_then(Value::as_str);
        let task = usage_text(&skill.name, &latest.description, when);
        let task: String = task.chars().take(MAX_QUERY_CHARS).collect();
        if task.trim().is_empty() {
            return Ok(Vec::new());
        }
        let found = self
            .route_skills(tenant, task.as_str(), OVERLAP_DEPTH)
            .await?;
        let own = found.iter().position(|found| found.skill_id == skill.id);
        let words = found.iter().map(|found| found.matched.as_slice());
        let rivals = find_rivals(words, own).into_iter();
        let overlaps = rivals.filter_map(|rival| {
            let other = found.get(rival.place)?;
            Some(SkillOverlap {
                skill_id: skill.id.clone(),
                name: skill.name.clone(),
                rival_id: other.skill_id.clone(),
                rival_name: other.name.clone(),
                ranks: rival.ranks,
                shared: other
                    .matched
                    .iter()
                    .take(MAX_SHARED_WORDS)
                    .cloned()
                    .collect(),
            })
        });
        Ok(overlaps.collect())
    }
}
