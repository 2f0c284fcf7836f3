//! The posting lists of some skills in memory, for many queries over the same skills.

use std::collections::HashMap;

use crate::best::ScoredDocument;
use crate::corpus::CorpusStats;
use crate::explanation::{Explainer, MatchedWord};
use crate::query::SkillQuery;
use crate::scorer::{Posting, Scorer};
use crate::skill_terms::SkillTerms;

/// All posting lists of some skills. A document's number is its place among them.
#[derive(Debug, Default)]
pub struct PostingLists<'a> {
    corpus: CorpusStats,
    documents: usize,
    lists: HashMap<&'a str, Vec<Posting>>,
}

impl<'a> PostingLists<'a> {
    /// The lists of these skills.
    pub fn new(skills: &'a [SkillTerms]) -> Self {
        let mut all = Self {
            documents: skills.len(),
            ..Self::default()
        };
        for (document, skill) in (0..).zip(skills) {
            all.corpus.add(skill.lengths());
            for (term, counts) in skill.terms() {
                all.lists.entry(term).or_default().push(Posting {
                    document,
                    counts,
                    lengths: skill.lengths(),
                });
            }
        }
        all
    }

    /// As [`rank_with_words`](crate::rank_with_words) over the same skills.
    pub fn rank_with_words(
        &self,
        query: &SkillQuery,
        limit: usize,
    ) -> Vec<(ScoredDocument, Vec<MatchedWord>)> {
        let list = |term: &str| {
            let list = self.lists.get(term).map(Vec::as_slice);
            list.unwrap_or_default().iter().copied()
        };
        let mut scorer = Scorer::new(query, &self.corpus, self.documents);
        for (number, query_term) in query.terms().iter().enumerate() {
            scorer.add_term(number, list(&query_term.term));
        }
        let best = scorer.top(limit);
        let mut explainer = Explainer::new(&scorer, &best);
        for (number, query_term) in query.terms().iter().enumerate() {
            explainer.add_term(number, list(&query_term.term));
        }
        let words = explainer.finish();
        best.into_iter().zip(words).collect()
    }
}
