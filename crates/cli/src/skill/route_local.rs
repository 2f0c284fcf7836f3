//! Ranks the skills of folders, archives and URLs, as a server ranks those it stores.

use std::path::PathBuf;

use prowess_client::{CatalogueSize, RankedSkill, SkillRanking, WordMatch};
use prowess_engine::EngineSettings;
use prowess_ranking::{MatchedWord, SkillQuery, SkillTerms, SkillText, rank_with_words};
use prowess_skill::disclose::{ROUTED_LINE_BYTES, catalogue_entry};
use prowess_skill::{BundleLimits, Skill, declared_triggers};
use prowess_source::{Catalogue, LabelledSource};

use crate::fetch::FetchArgs;
use crate::output;

/// Bytes of a token, approximately.
const BYTES_PER_TOKEN: usize = 4;

pub(super) fn rank_sources(
    task: &str,
    limit: usize,
    paths: &[PathBuf],
    fetch: &FetchArgs,
) -> anyhow::Result<SkillRanking> {
    let catalogue = load_sources(paths, fetch)?;
    let skills: Vec<&Skill> = catalogue
        .entries
        .values()
        .map(|entry| &entry.skill)
        .collect();
    Ok(rank(task, limit, &skills))
}

/// The skills of some sources; those that cannot be read are reported and left out.
pub(super) fn load_sources(paths: &[PathBuf], fetch: &FetchArgs) -> anyhow::Result<Catalogue> {
    let sources: Vec<_> = paths
        .iter()
        .map(|path| LabelledSource {
            path: path.clone(),
            label: None,
        })
        .collect();
    let opened = fetch.open(paths)?;
    let catalogue = Catalogue::from_opened(sources.iter().zip(opened), &BundleLimits::default());
    for error in &catalogue.unreadable {
        output::print_error(&error.to_string());
    }
    Ok(catalogue)
}

fn rank(task: &str, limit: usize, skills: &[&Skill]) -> SkillRanking {
    let terms: Vec<_> = skills.iter().map(|skill| terms(skill)).collect();
    let limit_bytes = EngineSettings::default().catalogue_tokens * BYTES_PER_TOKEN;
    let mut catalogue = CatalogueSize {
        skills: 0,
        bytes: 0,
        limit_bytes,
    };
    let mut ranked = Vec::new();
    let mut is_full = false;
    for (scored, matched) in rank_with_words(&SkillQuery::parse(task), &terms, limit) {
        let Some(skill) = skills.get(scored.document as usize) else {
            continue;
        };
        let catalogue_bytes = catalogue_entry(skill, ROUTED_LINE_BYTES).len() + 1;
        let is_offered = skill.invocation.by_model;
        is_full = is_full || is_offered && catalogue.bytes + catalogue_bytes > limit_bytes;
        let in_catalogue = is_offered && !is_full;
        if in_catalogue {
            catalogue.skills += 1;
            catalogue.bytes += catalogue_bytes;
        }
        ranked.push(RankedSkill {
            rank: ranked.len() + 1,
            score: scored.score,
            similarity: None,
            skill_id: None,
            version_id: None,
            name: skill.name.clone(),
            description: skill.description.clone(),
            matched: matched.iter().map(word_match).collect(),
            catalogue_bytes,
            in_catalogue,
        });
    }
    SkillRanking {
        skills: ranked,
        catalogue,
        vectors: false,
    }
}

/// The terms of a skill, as a server indexes them.
pub(super) fn terms(skill: &Skill) -> SkillTerms {
    SkillTerms::new(&SkillText {
        name: &skill.name,
        description: &skill.description,
        when_to_use: skill.invocation.when_to_use.as_deref().unwrap_or_default(),
        body: &skill.body,
        triggers: &declared_triggers(&skill.frontmatter),
    })
}

pub(super) fn word_match(matched: &MatchedWord) -> WordMatch {
    let places = matched.places().into_iter();
    WordMatch {
        word: matched.word.clone(),
        fields: places.map(str::to_owned).collect(),
    }
}
