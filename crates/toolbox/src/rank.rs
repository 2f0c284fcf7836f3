//! Ranks the skills of a toolbox for a query, by the same code as those of a store.
//!
//! Nothing is indexed: the texts are split for each query, within a budget of time.

use prowess_ranking::{SkillQuery, SkillTerms, SkillText};
use prowess_skill::{Skill, declared_triggers};
use rayon::prelude::*;

/// Bytes of all bodies together that are read for one query, some tens of milliseconds. Of
/// many skills, only the beginnings of their bodies count.
const MAX_BODY_BYTES: usize = 2 << 20;

/// The best skills for a query, best first, none of them without any of its words.
/// Equal scores keep their order.
pub(crate) fn rank<'a>(skills: &[&'a Skill], query: &str, limit: usize) -> Vec<&'a Skill> {
    let query = SkillQuery::parse(query);
    let body_bytes = MAX_BODY_BYTES / skills.len().max(1);
    let terms: Vec<SkillTerms> = skills
        .par_iter()
        .map(|skill| {
            let triggers = declared_triggers(&skill.frontmatter);
            SkillTerms::for_query(&text(skill, &triggers, body_bytes), &query)
        })
        .collect();
    let best = prowess_ranking::rank(&query, &terms, limit);
    best.into_iter()
        .filter_map(|scored| skills.get(scored.document as usize).copied())
        .collect()
}

fn text<'a>(skill: &'a Skill, triggers: &'a [String], body_bytes: usize) -> SkillText<'a> {
    let body_end = skill.body.floor_char_boundary(body_bytes);
    SkillText {
        name: &skill.name,
        description: &skill.description,
        when_to_use: skill.invocation.when_to_use.as_deref().unwrap_or_default(),
        body: skill.body.get(..body_end).unwrap_or_default(),
        triggers,
    }
}
