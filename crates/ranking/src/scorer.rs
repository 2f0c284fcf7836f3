//! Ranks skills from posting lists.
//!
//! Two rankings are fused by reciprocal rank: by all fields, and by name and description
//! only. The first finds skills whose instructions treat the task, the second those that say
//! they are made for it. A skill most of whose name is in the query counts more in both, and one
//! with a declared trigger in it most of all.
//!
//! An index gives the postings of one term after the other, either as they are or in lists that it
//! has weighed before; a few numbers per skill are stored, so memory does not depend on the number
//! of postings.

use crate::best::{BestDocuments, ScoredDocument, sort_best};
use crate::bm25f::FieldNorms;
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

/// How many skills have a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DocumentFrequency {
    /// In any field.
    pub whole: u64,
    /// In name or description.
    pub summary: u64,
}

impl DocumentFrequency {
    /// Counts a skill that has the term.
    pub fn add(&mut self, counts: FieldCounts) {
        self.whole += 1;
        self.summary += u64::from(counts.is_in_summary());
    }
}

/// What is summed up for the name of one skill.
#[derive(Debug, Clone, Copy, Default)]
struct NameSums {
    /// The rarities of the query's terms that its name has.
    rarities: f64,
    /// How many of them there are, and words of the name.
    terms: u16,
    words: u16,
}

impl NameSums {
    fn bonus(&self) -> f64 {
        if self.terms == 0 {
            return 0.0;
        }
        let part = f64::from(self.terms) / f64::from(self.words.max(1));
        NAME_SHARE * part.min(1.0) * self.rarities
    }
}

/// The scores by all fields, and by name and description.
fn scores(whole: f64, summary: f64, name: &NameSums) -> (f64, f64) {
    let bonus = name.bonus();
    let by_summary = summary + bonus;
    (whole + bonus + SUMMARY_SHARE * by_summary, by_summary)
}

/// How much the postings of the current term count.
#[derive(Debug, Clone, Copy, Default)]
struct TermWeights {
    whole: f64,
    summary: f64,
    /// `None` if the term is no word of its own: names do not count then.
    name: Option<f64>,
}

/// The scores of all skills for a query.
#[derive(Debug, Clone)]
pub struct Scorer<'a> {
    query: &'a SkillQuery,
    norms: FieldNorms,
    /// What is summed up for each skill: by all fields, by name and description, and for its name.
    /// Few postings are of names and descriptions. Apart, the sums that all postings add to stay in
    /// a processor's nearest caches.
    whole: Vec<f64>,
    summaries: Vec<f64>,
    names: Vec<NameSums>,
    /// For each term of the query, its weight by its rarity in all fields.
    weights: Vec<f64>,
    current: TermWeights,
}

impl<'a> Scorer<'a> {
    /// For documents with numbers below `slots`; others are ignored.
    pub fn new(query: &'a SkillQuery, corpus: &CorpusStats, slots: usize) -> Self {
        Self {
            query,
            norms: FieldNorms::new(corpus),
            whole: vec![0.0; slots],
            summaries: vec![0.0; slots],
            names: vec![NameSums::default(); slots],
            weights: vec![0.0; query.terms().len()],
            current: TermWeights::default(),
        }
    }

    /// Adds all postings of a term: one per document, in any order. Terms must be added in
    /// the order of the query, each once: sums of floating-point numbers depend on it.
    pub fn add_term(&mut self, term: usize, postings: impl Iterator<Item = Posting>) {
        let postings: Vec<Posting> = postings.collect();
        let mut having = DocumentFrequency::default();
        postings.iter().for_each(|own| having.add(own.counts));
        self.begin_term(term, having);
        postings.iter().for_each(|own| self.add_posting(own));
    }

    /// Begins a term that so many documents have. All its postings follow; as of
    /// [`add_term`](Self::add_term), the order of terms is that of the query.
    pub fn begin_term(&mut self, term: usize, having: DocumentFrequency) {
        let Some(query_term) = self.query.terms().get(term) else {
            self.current = TermWeights::default();
            return;
        };
        let is_word = !is_pair(&query_term.term) && !is_trigger(&query_term.term);
        let summary_rarity = self.norms.rarity(having.summary);
        self.current = TermWeights {
            whole: query_term.weight * self.norms.rarity(having.whole),
            summary: query_term.weight * summary_rarity,
            name: is_word.then_some(summary_rarity),
        };
        if let Some(weight) = self.weights.get_mut(term) {
            *weight = self.current.whole;
        }
    }

    /// Adds postings of the current term, weighed by the norms of the same skills. A place is the
    /// distance of a document from `first`; `counts` has for each the weighed counts of all fields.
    /// What names and descriptions add besides is for [`add_summaries`](Self::add_summaries) and
    /// [`add_name`](Self::add_name).
    pub fn add_list(&mut self, first: u32, places: &[u32], counts: &[f32]) {
        add_weighed(&mut self.whole, first, places, counts, self.current.whole);
    }

    /// Adds those postings of the current term that are of names and descriptions, with the weighed
    /// counts of these fields only.
    pub fn add_summaries(&mut self, first: u32, places: &[u32], counts: &[f32]) {
        add_weighed(
            &mut self.summaries,
            first,
            places,
            counts,
            self.current.summary,
        );
    }

    /// Adds that the name of a document, which has so many words, has the current term.
    pub fn add_name(&mut self, document: u32, words: u16) {
        if let Some(rarity) = self.current.name
            && let Some(sums) = self.names.get_mut(document as usize)
        {
            sums.rarities += rarity;
            sums.terms = sums.terms.saturating_add(1);
            sums.words = words;
        }
    }

    /// Adds a posting of the current term, with its name.
    pub fn add_posting(&mut self, posting: &Posting) {
        let counts = self.norms.weigh(posting.counts, posting.lengths);
        self.add_list(posting.document, &[0], &[counts.whole]);
        self.add_summaries(posting.document, &[0], &[counts.summary]);
        if posting.counts.get(Field::Name) > 0 {
            self.add_name(posting.document, posting.lengths.get(Field::Name));
        }
    }

    /// Takes back all that was added for a document, so that it is not found.
    pub fn forget(&mut self, document: u32) {
        for sums in [&mut self.whole, &mut self.summaries] {
            if let Some(sum) = sums.get_mut(document as usize) {
                *sum = 0.0;
            }
        }
        if let Some(sums) = self.names.get_mut(document as usize) {
            *sums = NameSums::default();
        }
    }

    /// The best documents, best first; none of them without any term of the query. Among
    /// equals, the lowest number first.
    pub fn top(&self, limit: usize) -> Vec<ScoredDocument> {
        let depth = FUSED_DEPTH.max(limit);
        let slots = self.whole.len();
        let mut by_whole = BestDocuments::new(depth, slots);
        let mut by_summary = BestDocuments::new(depth, slots);
        let sums = self.whole.iter().zip(&self.summaries).zip(&self.names);
        for (document, ((whole, summary), name)) in (0..).zip(sums) {
            // Every posting adds to it.
            if *whole > 0.0 {
                let (whole, summary) = scores(*whole, *summary, name);
                by_whole.add(document, whole);
                by_summary.add(document, summary);
            }
        }
        let mut fused = by_whole.into_reciprocal_ranks(1.0);
        // For each document, the place after its own in `fused`; 0 if it is not there.
        let mut places = vec![0u32; slots];
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
        weight * f64::from(self.norms.weigh(posting.counts, posting.lengths).whole)
    }

    pub(crate) fn query(&self) -> &'a SkillQuery {
        self.query
    }
}

/// Adds weighed counts to the sums of documents. A place is the distance of a document from `first`.
fn add_weighed(sums: &mut [f64], first: u32, places: &[u32], counts: &[f32], weight: f64) {
    let sums = sums.get_mut(first as usize..).unwrap_or_default();
    for (place, count) in places.iter().zip(counts) {
        if let Some(sum) = sums.get_mut(*place as usize) {
            *sum += weight * f64::from(*count);
        }
    }
}
