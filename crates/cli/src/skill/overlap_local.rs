//! Finds which skills of folders, archives and URLs are found for each other's queries, as a
//! server does for those it stores.

use std::path::PathBuf;

use anyhow::bail;
use prowess_client::{OverlapPair, OverlapReport};
use prowess_ranking::{MAX_SHARED_WORDS, OVERLAP_DEPTH, PostingLists, SkillQuery, find_rivals};
use prowess_skill::{Skill, usage_text};

use super::route_local::{load_sources, terms, word_match};
use crate::fetch::FetchArgs;

/// Skills that are examined at most: each costs a search.
pub(super) const MAX_EXAMINED: usize = 1_000;

/// Examines one skill of the sources, or all up to [`MAX_EXAMINED`] in the order of their
/// names.
pub(super) fn examine_sources(
    paths: &[PathBuf],
    only: Option<&str>,
    fetch: &FetchArgs,
) -> anyhow::Result<OverlapReport> {
    let catalogue = load_sources(paths, fetch)?;
    let skills: Vec<&Skill> = catalogue
        .entries
        .values()
        .map(|entry| &entry.skill)
        .collect();
    let is_examined = |skill: &&Skill| only.is_none_or(|only| skill.name == only);
    let examined = skills.iter().copied().enumerate();
    let examined: Vec<_> = examined.filter(|(_, skill)| is_examined(skill)).collect();
    if let (Some(only), true) = (only, examined.is_empty()) {
        bail!("there is no skill `{only}` in these sources");
    }
    let terms: Vec<_> = skills.iter().map(|skill| terms(skill)).collect();
    let lists = PostingLists::new(&terms);
    let mut pairs = Vec::new();
    for (own, skill) in examined.iter().take(MAX_EXAMINED) {
        pairs.extend(rivals(&lists, &skills, *own, skill));
    }
    Ok(OverlapReport {
        pairs,
        examined: examined.len().min(MAX_EXAMINED),
        has_more: examined.len() > MAX_EXAMINED,
    })
}

fn rivals(
    lists: &PostingLists<'_>,
    skills: &[&Skill],
    own: usize,
    skill: &Skill,
) -> Vec<OverlapPair> {
    let when = skill.invocation.when_to_use.as_deref();
    let query = SkillQuery::parse(&usage_text(&skill.name, &skill.description, when));
    let found = lists.rank_with_words(&query, OVERLAP_DEPTH);
    let place = found
        .iter()
        .position(|(scored, _)| scored.document as usize == own);
    let rivals = find_rivals(found.iter().map(|(_, words)| words.as_slice()), place);
    let pairs = rivals.into_iter().filter_map(|rival| {
        let (scored, words) = found.get(rival.place)?;
        let other = skills.get(scored.document as usize)?;
        Some(OverlapPair {
            skill_id: None,
            name: skill.name.clone(),
            rank: rival.ranks.own,
            rival_id: None,
            rival_name: other.name.clone(),
            rival_rank: rival.ranks.rival,
            score_ratio: rival.ranks.score_ratio,
            shared: words
                .iter()
                .take(MAX_SHARED_WORDS)
                .map(word_match)
                .collect(),
        })
    });
    pairs.collect()
}
