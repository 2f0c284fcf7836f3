//! Ranks in memory: the posting lists that a store would read from its database.

use std::collections::HashMap;

use prowess_ranking::{
    CorpusStats, Posting, ScoredDocument, Scorer, SkillQuery, SkillTerms, SkillText,
};
use rayon::prelude::*;

use crate::dataset::PoolSkill;

/// All posting lists.
#[derive(Debug, Default)]
pub(crate) struct MemoryIndex {
    corpus: CorpusStats,
    slots: usize,
    postings: HashMap<String, Vec<Posting>>,
    /// Bytes of the terms of all skills as a store has them.
    pub(crate) encoded_bytes: usize,
    pub(crate) text_bytes: usize,
}

impl MemoryIndex {
    pub(crate) fn new(pool: &[PoolSkill]) -> Self {
        let terms: Vec<SkillTerms> = pool
            .par_iter()
            .map(|skill| {
                SkillTerms::new(&SkillText {
                    name: &skill.name,
                    description: &skill.description,
                    when_to_use: "",
                    body: &skill.body,
                    triggers: &[],
                })
            })
            .collect();
        let mut index = Self {
            slots: pool.len(),
            ..Self::default()
        };
        for ((document, skill), terms) in (0..).zip(pool).zip(&terms) {
            index.corpus.add(terms.lengths());
            index.encoded_bytes += terms.encode().len();
            index.text_bytes += skill.name.len() + skill.description.len() + skill.body.len();
            for (term, counts) in terms.terms() {
                let posting = Posting {
                    document,
                    counts,
                    lengths: terms.lengths(),
                };
                match index.postings.get_mut(term) {
                    Some(list) => list.push(posting),
                    None => {
                        index.postings.insert(term.to_owned(), vec![posting]);
                    }
                }
            }
        }
        index
    }

    /// The places of the best skills.
    pub(crate) fn search(&self, text: &str, limit: usize) -> Vec<u32> {
        let best = self.ranked(text, limit);
        best.into_iter().map(|scored| scored.document).collect()
    }

    /// The same, with their scores.
    pub(crate) fn ranked(&self, text: &str, limit: usize) -> Vec<ScoredDocument> {
        let query = SkillQuery::parse(text);
        let mut scorer = Scorer::new(&query, &self.corpus, self.slots);
        for (number, term) in query.terms().iter().enumerate() {
            let list = self.postings.get(&term.term).map(Vec::as_slice);
            scorer.add_term(number, list.unwrap_or_default().iter().copied());
        }
        scorer.top(limit)
    }
}
