//! Ranks skills from posting lists.
//!
//! Two rankings are fused by reciprocal rank: by all fields, and by name and description
//! only. The first finds skills whose instructions treat the task, the second those that say
//! they are made for it. A skill most of whose name is in the query counts more in both, and one
//! with a declared trigger in it most of all.
//!
//! An index gives the postings of one term after the other; a few numbers per skill are
//! stored, so memory does not depend on the number of postings.

use crate::bm25f::{FieldNorms, TermCounts};
use crate::corpus::CorpusStats;
use crate::field::{Field, FieldCounts};
use crate::pairs::is_pair;
use crate::query::SkillQuery;
use crate::triggers::is_trigger;

/// Skills of each ranking that are fused.
const FUSED_DEPTH: usize = 1_000;
/// How little the first ranks differ.
const RANK_OFFSET: f64 = 10.0;
/// How much the ranking by name and description counts.
const SUMMARY_RANKING_WEIGHT: f64 = 0.5;
/// How much of the score by name and description is added to that by all fields.
const SUMMARY_SHARE: f64 = 0.25;
/// How much the part of the name that is in the query counts.
const NAME_SHARE: f64 = 0.25;

/// A term's occurrence in one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// The number of the skill in its index.
    pub document: u32,
    /// How often the term occurs there.
    pub counts: FieldCounts,
    /// How long the skill is.
    pub lengths: FieldCounts,
}

/// A ranked skill.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredDocument {
    /// The number of the skill in its index.
    pub document: u32,
    /// How well it matches; comparable within one search only.
    pub score: f64,
}

/// What is summed up for one skill.
#[derive(Debug, Clone, Copy, Default)]
struct ScoreSums {
    whole: f64,
    summary: f64,
    /// The rarities of the query's terms that its name has.
    name: f64,
    /// How many of them there are, and words of the name.
    name_terms: u16,
    name_words: u16,
}

impl ScoreSums {
    fn name_bonus(&self) -> f64 {
        if self.name_terms == 0 {
            return 0.0;
        }
        let part = f64::from(self.name_terms) / f64::from(self.name_words.max(1));
        NAME_SHARE * part.min(1.0) * self.name
    }

    fn by_summary(&self) -> f64 {
        self.summary + self.name_bonus()
    }

    fn by_all_fields(&self) -> f64 {
        self.whole + self.name_bonus() + SUMMARY_SHARE * self.by_summary()
    }
}

/// The scores of all skills for a query.
#[derive(Debug, Clone)]
pub struct Scorer<'a> {
    query: &'a SkillQuery,
    norms: FieldNorms,
    sums: Vec<ScoreSums>,
    /// For each term of the query, its weight by its rarity in all fields.
    weights: Vec<f64>,
    /// The postings of the current term.
    current: Vec<(Posting, TermCounts)>,
}

impl<'a> Scorer<'a> {
    /// For documents with numbers below `slots`; others are ignored.
    pub fn new(query: &'a SkillQuery, corpus: &CorpusStats, slots: usize) -> Self {
        Self {
            query,
            norms: FieldNorms::new(corpus),
            sums: vec![ScoreSums::default(); slots],
            weights: vec![0.0; query.terms().len()],
            current: Vec::new(),
        }
    }

    /// Adds all postings of a term: one per document, in any order. Terms must be added in
    /// the order of the query, each once: sums of floating-point numbers depend on it.
    pub fn add_term(&mut self, term: usize, postings: impl Iterator<Item = Posting>) {
        let Some(query_term) = self.query.terms().get(term) else {
            return;
        };
        self.current.clear();
        let mut in_summary = 0;
        for posting in postings {
            let counts = self.norms.weigh(posting.counts, posting.lengths);
            in_summary += u64::from(counts.summary > 0.0);
            self.current.push((posting, counts));
        }
        let whole_weight = query_term.weight * self.norms.rarity(self.current.len() as u64);
        let summary_rarity = self.norms.rarity(in_summary);
        let summary_weight = query_term.weight * summary_rarity;
        let is_word = !is_pair(&query_term.term) && !is_trigger(&query_term.term);
        if let Some(weight) = self.weights.get_mut(term) {
            *weight = whole_weight;
        }
        for (posting, counts) in &self.current {
            let Some(sums) = self.sums.get_mut(posting.document as usize) else {
                continue;
            };
            sums.whole += whole_weight * counts.whole;
            sums.summary += summary_weight * counts.summary;
            if is_word && posting.counts.get(Field::Name) > 0 {
                sums.name += summary_rarity;
                sums.name_terms = sums.name_terms.saturating_add(1);
                sums.name_words = posting.lengths.get(Field::Name);
            }
        }
    }

    /// The best documents, best first; none of them without any term of the query. Among
    /// equals, the lowest number first.
    pub fn top(&self, limit: usize) -> Vec<ScoredDocument> {
        let depth = FUSED_DEPTH.max(limit);
        let whole = self.sums.iter().map(ScoreSums::by_all_fields);
        let summary = self.sums.iter().map(ScoreSums::by_summary);
        let mut ranks = reciprocal_ranks(whole, depth, 1.0);
        ranks.extend(reciprocal_ranks(summary, depth, SUMMARY_RANKING_WEIGHT));
        // Stable, so that the two parts of a sum are always in the same order.
        ranks.sort_by_key(|scored| scored.document);
        let mut fused: Vec<ScoredDocument> = Vec::with_capacity(ranks.len());
        for next in ranks {
            match fused.last_mut() {
                Some(last) if last.document == next.document => last.score += next.score,
                _ => fused.push(next),
            }
        }
        fused.sort_unstable_by(compare);
        fused.truncate(limit);
        fused
    }

    /// How much a posting adds to its document's score by all fields.
    pub(crate) fn contribution(&self, term: usize, posting: &Posting) -> f64 {
        let weight = self.weights.get(term).copied().unwrap_or_default();
        weight * self.norms.weigh(posting.counts, posting.lengths).whole
    }

    pub(crate) fn query(&self) -> &'a SkillQuery {
        self.query
    }
}

fn compare(a: &ScoredDocument, b: &ScoredDocument) -> std::cmp::Ordering {
    b.score
        .total_cmp(&a.score)
        .then(a.document.cmp(&b.document))
}

/// The best `depth` documents, each with `weight / (offset + rank)`. Equal scores share a
/// rank.
fn reciprocal_ranks(
    scores: impl Iterator<Item = f64>,
    depth: usize,
    weight: f64,
) -> Vec<ScoredDocument> {
    let scored = (0..).zip(scores).filter(|(_, score)| *score > 0.0);
    let mut best: Vec<_> = scored
        .map(|(document, score)| ScoredDocument { document, score })
        .collect();
    if best.len() > depth {
        best.select_nth_unstable_by(depth, compare);
        best.truncate(depth);
    }
    best.sort_unstable_by(compare);
    let mut rank = 0;
    let mut previous = f64::INFINITY;
    for (place, scored) in best.iter_mut().enumerate() {
        if scored.score < previous {
            previous = scored.score;
            rank = place + 1;
        }
        scored.score = weight / (RANK_OFFSET + rank as f64);
    }
    best
}
