//! Ranks skills from posting lists.
//!
//! Two rankings are fused by reciprocal rank: by all fields, and by name and description
//! only. The first finds skills whose instructions treat the task, the second those that say
//! they are made for it. A skill most of whose name is in the query counts more in both, and one
//! with a declared trigger in it most of all.
//!
//! An index gives the postings of one term after the other; a few numbers per skill are
//! stored, so memory does not depend on the number of postings.

use crate::best::{BestDocuments, ScoredDocument, sort_best};
use crate::bm25f::{FieldNorms, TermCounts};
use crate::corpus::CorpusStats;
use crate::field::{Field, FieldCounts};
use crate::pairs::is_pair;
use crate::query::SkillQuery;
use crate::triggers::is_trigger;

/// Skills of each ranking that are fused.
const FUSED_DEPTH: usize = 1_000;
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

    /// The scores by all fields, and by name and description.
    fn scores(&self) -> (f64, f64) {
        let bonus = self.name_bonus();
        let by_summary = self.summary + bonus;
        (self.whole + bonus + SUMMARY_SHARE * by_summary, by_summary)
    }
}

/// A posting of the current term.
#[derive(Debug, Clone, Copy)]
struct WeighedPosting {
    document: u32,
    in_name: bool,
    name_words: u16,
    counts: TermCounts,
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
    current: Vec<WeighedPosting>,
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
        self.current.clear();
        postings.for_each(|posting| self.push(posting));
        self.finish_term(term);
    }

    /// Adds a posting of the term that [`finish_term`](Self::finish_term) is called with next.
    #[inline]
    pub fn push(&mut self, posting: Posting) {
        self.current.push(WeighedPosting {
            document: posting.document,
            in_name: posting.counts.get(Field::Name) > 0,
            name_words: posting.lengths.get(Field::Name),
            counts: self.norms.weigh(posting.counts, posting.lengths),
        });
    }

    /// Ends a term all of whose postings were pushed. As of [`add_term`](Self::add_term), the
    /// order of terms is that of the query.
    pub fn finish_term(&mut self, term: usize) {
        let Some(query_term) = self.query.terms().get(term) else {
            self.current.clear();
            return;
        };
        // Most phrases of a query are no trigger of any skill.
        if self.current.is_empty() {
            return;
        }
        let in_summary = self.current.iter();
        let in_summary = in_summary.filter(|posting| posting.counts.summary > 0.0);
        let summary_rarity = self.norms.rarity(in_summary.count() as u64);
        let summary_weight = query_term.weight * summary_rarity;
        let whole_weight = query_term.weight * self.norms.rarity(self.current.len() as u64);
        let is_word = !is_pair(&query_term.term) && !is_trigger(&query_term.term);
        if let Some(weight) = self.weights.get_mut(term) {
            *weight = whole_weight;
        }
        for posting in self.current.drain(..) {
            let Some(sums) = self.sums.get_mut(posting.document as usize) else {
                continue;
            };
            sums.whole += whole_weight * posting.counts.whole;
            sums.summary += summary_weight * posting.counts.summary;
            if is_word && posting.in_name {
                sums.name += summary_rarity;
                sums.name_terms = sums.name_terms.saturating_add(1);
                sums.name_words = posting.name_words;
            }
        }
    }

    /// The best documents, best first; none of them without any term of the query. Among
    /// equals, the lowest number first.
    pub fn top(&self, limit: usize) -> Vec<ScoredDocument> {
        let depth = FUSED_DEPTH.max(limit);
        let mut by_whole = BestDocuments::new(depth);
        let mut by_summary = BestDocuments::new(depth);
        for (document, sums) in (0..).zip(&self.sums) {
            let (whole, summary) = sums.scores();
            by_whole.add(document, whole);
            by_summary.add(document, summary);
        }
        let mut fused = by_whole.into_reciprocal_ranks(1.0);
        // For each document, the place after its own in `fused`; 0 if it is not there.
        let mut places = vec![0u32; self.sums.len()];
        for (place, scored) in (1..).zip(&fused) {
            if let Some(own) = places.get_mut(scored.document as usize) {
                *own = place;
            }
        }
        for next in by_summary.into_reciprocal_ranks(SUMMARY_RANKING_WEIGHT) {
            let place = places.get(next.document as usize).copied();
            let place = place.and_then(|place| place.checked_sub(1));
            match place.and_then(|place| fused.get_mut(place as usize)) {
                Some(own) => own.score += next.score,
                None => fused.push(next),
            }
        }
        sort_best(fused, limit)
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
