//! The ranking of a query.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use prowess_ranking::{
    Explainer, FusedDocument, Int8Vector, MAX_QUERY_CHARS, MatchedWord, ScoredDocument, Scorer,
    SkillQuery, fuse,
};

use super::posting::malformed_page;
use super::query_lists::QueryLists;
use super::snapshot::IndexSnapshot;
use super::term_lists::{NewTerms, TermLists};
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
    pub(crate) fn rank_documents<'a>(
        &'a self,
        tenant: &'a TenantId,
        query: SkillQuery,
        vector: Option<&'a QueryVector>,
        limit: usize,
        explanation: Explanation,
    ) -> BoxFuture<'a, Result<Vec<RankedDocument>>> {
        Box::pin(async move {
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
                let Some(lists) = self.query_lists(tenant, &snapshot, &query).await? else {
                    continue;
                };
                let vectors = compared.as_ref().map_or(0, |(_, all)| all.memory());
                let is_inline = lists.is_little_work(snapshot.places(), vectors);
                let rank = move || {
                    let compared = compared.as_ref();
                    rank(&query, &snapshot, lists, compared, limit, explanation)
                };
                let (ranked, new_terms) = if is_inline {
                    rank()?
                } else {
                    // A large index takes milliseconds, for which no other request should wait.
                    let ranked = tokio::task::spawn_blocking(rank).await;
                    ranked.unwrap_or(Err(Error::Busy))?
                };
                self.term_cache().keep(new_terms).await;
                return Ok(ranked);
            }
            Err(Error::Busy)
        })
    }
}

/// The vector of a query, and those of the tenant's documents.
type ComparedVectors = (Int8Vector, Arc<TenantVectors>);

/// The best documents, and the lists that were read for them.
fn rank(
    query: &SkillQuery,
    snapshot: &IndexSnapshot,
    lists: QueryLists,
    compared: Option<&ComparedVectors>,
    limit: usize,
    explanation: Explanation,
) -> Result<(Vec<RankedDocument>, NewTerms)> {
    let mut scorer = Scorer::new(query, &snapshot.stats, snapshot.places());
    let (lists, new_terms) = TermLists::complete(query, snapshot, lists)?;
    for at in 0..query.terms().len() {
        lists.score(at, &mut scorer);
    }
    lists.forget_dead(&mut scorer);
    let best = best_documents(&scorer, snapshot, compared, limit);
    let mut matched = match explanation {
        Explanation::None => Vec::new(),
        Explanation::MatchedWords => explain(query, &lists, &scorer, &best),
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
    let ranked = numbers.collect::<Option<_>>().ok_or_else(malformed_page)?;
    Ok((ranked, new_terms))
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
    let recent = snapshot.recent.numbers.iter();
    let recent = recent.map(|number| (*number, false));
    let all = (0..).zip(in_blocks.chain(recent));
    all.filter_map(|(place, (number, is_dead))| (!is_dead).then_some((place, number)))
}

fn explain(
    query: &SkillQuery,
    lists: &TermLists<'_>,
    scorer: &Scorer<'_>,
    best: &[FusedDocument],
) -> Vec<Vec<MatchedWord>> {
    let selected = lists.select(best.iter().map(|found| found.document));
    let best: Vec<_> = best
        .iter()
        .map(|found| ScoredDocument {
            document: found.document,
            score: found.score,
        })
        .collect();
    let mut explainer = Explainer::new(scorer, &best);
    let mut postings = Vec::new();
    for at in 0..query.terms().len() {
        lists.each_selected(at, &selected, |posting| postings.push(posting));
        explainer.add_term(at, postings.drain(..));
    }
    explainer.finish()
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
    snapshot.recent.numbers.get(place).copied()
}
