//! Why a skill was found: the words of the query that it has, and where.

use crate::best::ScoredDocument;
use crate::field::Field;
use crate::scorer::{Posting, Scorer};
use crate::triggers::is_trigger;

/// A word of the query that a skill has.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchedWord {
    /// As it is in the query, in lower case.
    pub word: String,
    /// Where the skill has it, perhaps with another ending. Empty for a declared trigger.
    pub fields: Vec<Field>,
    /// What it adds to the skill's BM25F score over all fields.
    pub contribution: f64,
}

/// Collects the matched words of some documents, in a second pass over the postings: to
/// store them for all documents in the first would cost memory for each posting.
#[derive(Debug)]
pub struct Explainer<'a> {
    scorer: &'a Scorer<'a>,
    /// Sorted by document, with the place among the results.
    documents: Vec<(u32, usize)>,
    words: Vec<Vec<MatchedWord>>,
}

impl MatchedWord {
    /// Where the skill has it, as APIs say it.
    pub fn places(&self) -> Vec<&'static str> {
        match self.fields.is_empty() {
            true => vec!["triggers"],
            false => self.fields.iter().map(|field| field.as_str()).collect(),
        }
    }
}

impl<'a> Explainer<'a> {
    /// For some of the results of a scorer that has all its postings.
    pub fn new(scorer: &'a Scorer<'a>, results: &[ScoredDocument]) -> Self {
        let places = results.iter().map(|scored| scored.document).zip(0..);
        let mut documents: Vec<_> = places.collect();
        documents.sort_unstable();
        Self {
            scorer,
            documents,
            words: vec![Vec::new(); results.len()],
        }
    }

    /// Adds postings of a term; those of other documents are ignored.
    pub fn add_term(&mut self, term: usize, postings: impl Iterator<Item = Posting>) {
        let Some(query_term) = self.scorer.query().terms().get(term) else {
            return;
        };
        for posting in postings {
            let found = self
                .documents
                .binary_search_by_key(&posting.document, |(document, _)| *document);
            let place = found.ok().and_then(|at| self.documents.get(at));
            let Some(words) = place.and_then(|(_, place)| self.words.get_mut(*place)) else {
                continue;
            };
            words.push(MatchedWord {
                word: query_term.word.clone(),
                fields: match is_trigger(&query_term.term) {
                    true => Vec::new(),
                    false => posting.counts.fields().collect(),
                },
                contribution: self.scorer.contribution(term, &posting),
            });
        }
    }

    /// The matched words of each result, in the order of the results; those that add most
    /// first.
    pub fn finish(mut self) -> Vec<Vec<MatchedWord>> {
        for words in &mut self.words {
            words.sort_by(|a, b| b.contribution.total_cmp(&a.contribution));
        }
        self.words
    }
}
