//! The ranking of a query.

use std::sync::Arc;

use prowess_ranking::{
    Explainer, FusedDocument, Int8Vector, MAX_QUERY_CHARS, MatchedWord, ScoredDocument, Scorer,
    SkillQuery, fuse,
};

use super::limits::INLINE_RANKING_BYTES;
use super::posting::malformed_page;
use super::query_pages::QueryPages;
use super::snapshot::IndexSnapshot;
use super::term_lists::TermLists;
use crate::Store;
use crate::error::{Error, Result};
use crate::skill_vectors::{QueryVector, TenantVectors};
use crate::tenant::TenantId;

/// How often what a query reads may have been removed meanwhile: blocks that were there two
/// minutes before, or recent documents that were packed into a block or replaced.
const MAX_ATTEMPTS: usize = 3;

/// Documents of the ranking by words that are fused with those of similar vectors.
const FUSED_DEPTH: usize = 1_000;

/// A document that has a word of the query, or a similar vector.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RankedDocument {
    pub(crate) number: i64,
    pub(crate) score: f64,
    /// How similar its vector is to that of the query, if that counted.
    pub(crate) similarity: Option<f32>,
    /// Empty unless an explanation was requested.
    pub(crate) matched: Vec<MatchedWord>,
}

/// Whether the words that match are returned too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Explanation {
    None,
    MatchedWords,
}

/// Splits a query into terms. An empty or oversized one is refused.
pub(crate) fn check_query(text: &str) -> Result<SkillQuery> {
    let refuse = |reason| {
        let field = "query";
        Err(Error::Invalid { field, reason })
    };
    if text.trim().is_empty() {
        return refuse("it is empty; describe the task in some words".to_owned());
    }
    let length = text.chars().count();
    if length > MAX_QUERY_CHARS {
        return refuse(format!(
            "it has {length} characters, the limit is {MAX_QUERY_CHARS}; shorten it"
        ));
    }
    Ok(SkillQuery::parse(text))
}

impl Store {
    /// The tenant's documents that match a query, best first; among equals the oldest first.
    /// With a vector, those whose vectors are similar count too.
    pub(crate) async fn rank_documents(
        &self,
        tenant: &TenantId,
        query: SkillQuery,
        vector: Option<&QueryVector>,
        limit: usize,
        explanation: Explanation,
    ) -> Result<Vec<RankedDocument>> {
        if (query.is_empty() && vector.is_none()) || limit == 0 {
            return Ok(Vec::new());
        }
        let compared = match vector {
            Some(query) => {
                let all = self.tenant_vectors(tenant, query).await;
                all.map(|all| (query.vector.clone(), all))
            }
            None => None,
        };
        for _ in 0..MAX_ATTEMPTS {
            let Some(snapshot) = self.index_snapshot(tenant, &query).await? else {
                continue;
            };
            let Some(pages) = self.query_pages(&snapshot, &query).await? else {
                continue;
            };
            let bytes = pages.bytes() + compared.as_ref().map_or(0, |(_, all)| all.memory());
            let rank = move || {
                let compared = compared.as_ref();
                rank(&query, &snapshot, &pages, compared, limit, explanation)
            };
            if bytes <= INLINE_RANKING_BYTES {
                return rank();
            }
            // A large index takes milliseconds, for which no other request should wait.
            let ranked = tokio::task::spawn_blocking(rank).await;
            return ranked.unwrap_or(Err(Error::Busy));
        }
        Err(Error::Busy)
    }
}

/// The vector of a query, and those of the tenant's documents.
type ComparedVectors = (Int8Vector, Arc<TenantVectors>);

fn rank(
    query: &SkillQuery,
    snapshot: &IndexSnapshot,
    pages: &QueryPages,
    compared: Option<&ComparedVectors>,
    limit: usize,
    explanation: Explanation,
) -> Result<Vec<RankedDocument>> {
    let mut scorer = Scorer::new(query, &snapshot.stats, snapshot.places());
    let lists = TermLists::find(query, snapshot, pages);
    for at in 0..query.terms().len() {
        lists.each_posting(at, |_| true, |posting| scorer.push(posting))?;
        scorer.finish_term(at);
    }
    let best = best_documents(&scorer, snapshot, compared, limit);
    let mut matched = match explanation {
        Explanation::None => Vec::new(),
        Explanation::MatchedWords => explain(query, snapshot, &lists, &scorer, &best)?,
    }
    .into_iter();
    let numbers = best.iter().map(|scored| {
        let number = number_of(snapshot, scored.document as usize);
        number.map(|number| RankedDocument {
            number,
            score: scored.score,
            similarity: scored.similarity,
            matched: matched.next().unwrap_or_default(),
        })
    });
    numbers.collect::<Option<_>>().ok_or_else(malformed_page)
}

fn best_documents(
    scorer: &Scorer<'_>,
    snapshot: &IndexSnapshot,
    compared: Option<&ComparedVectors>,
    limit: usize,
) -> Vec<FusedDocument> {
    let Some((query, all)) = compared else {
        return fuse(&scorer.top(limit), Vec::new(), limit);
    };
    let similar = all.similarities(query, live_numbers(snapshot));
    fuse(&scorer.top(limit.max(FUSED_DEPTH)), similar, limit)
}

/// The places and numbers of all documents that were not removed.
fn live_numbers(snapshot: &IndexSnapshot) -> impl Iterator<Item = (u32, i64)> {
    let in_blocks = snapshot.blocks.iter().flat_map(|block| {
        let numbers = (0..).zip(&block.documents.numbers);
        numbers.map(|(place, number)| (*number, block.dead.contains(place)))
    });
    let recent = snapshot.recent.iter();
    let recent = recent.map(|recent| (recent.number, false));
    let all = (0..).zip(in_blocks.chain(recent));
    all.filter_map(|(place, (number, is_dead))| (!is_dead).then_some((place, number)))
}

fn explain(
    query: &SkillQuery,
    snapshot: &IndexSnapshot,
    lists: &TermLists<'_>,
    scorer: &Scorer<'_>,
    best: &[FusedDocument],
) -> Result<Vec<Vec<MatchedWord>>> {
    let best: Vec<_> = best
        .iter()
        .map(|found| ScoredDocument {
            document: found.document,
            score: found.score,
        })
        .collect();
    let mut selected = vec![false; snapshot.places()];
    for scored in &best {
        if let Some(selected) = selected.get_mut(scored.document as usize) {
            *selected = true;
        }
    }
    let is_selected = |place: u32| selected.get(place as usize).copied().unwrap_or_default();
    let mut explainer = Explainer::new(scorer, &best);
    let mut postings = Vec::new();
    for at in 0..query.terms().len() {
        lists.each_posting(at, is_selected, |posting| postings.push(posting))?;
        explainer.add_term(at, postings.drain(..));
    }
    Ok(explainer.finish())
}

/// The number of the document at a place.
fn number_of(snapshot: &IndexSnapshot, mut place: usize) -> Option<i64> {
    for block in &snapshot.blocks {
        let numbers = &block.documents.numbers;
        match place.checked_sub(numbers.len()) {
            None => return numbers.get(place).copied(),
            Some(rest) => place = rest,
        }
    }
    snapshot.recent.get(place).map(|recent| recent.number)
}
