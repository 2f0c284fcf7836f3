//! Ranks skills in memory, with the words that match.

use crate::best::ScoredDocument;
use crate::corpus::CorpusStats;
use crate::explanation::{Explainer, MatchedWord};
use crate::query::SkillQuery;
use crate::rank::postings;
use crate::scorer::Scorer;
use crate::skill_terms::SkillTerms;

/// As [`rank`](crate::rank), with the words of the query that each result has.
pub fn rank_with_words(
    query: &SkillQuery,
    skills: &[SkillTerms],
    limit: usize,
) -> Vec<(ScoredDocument, Vec<MatchedWord>)> {
    let mut corpus = CorpusStats::default();
    for skill in skills {
        corpus.add(skill.lengths());
    }
    let mut scorer = Scorer::new(query, &corpus, skills.len());
    for (number, query_term) in query.terms().iter().enumerate() {
        scorer.add_term(number, postings(skills, &query_term.term));
    }
    let best = scorer.top(limit);
    let mut explainer = Explainer::new(&scorer, &best);
    for (number, query_term) in query.terms().iter().enumerate() {
        explainer.add_term(number, postings(skills, &query_term.term));
    }
    let words = explainer.finish();
    best.into_iter().zip(words).collect()
}
