//! Ranks skills in memory, without an index.

use crate::best::ScoredDocument;
use crate::corpus::CorpusStats;
use crate::query::SkillQuery;
use crate::scorer::{Posting, Scorer};
use crate::skill_terms::SkillTerms;

/// The best skills for a query, best first, none of them without any term of the query. A
/// document's number is its place in `skills`.
pub fn rank(query: &SkillQuery, skills: &[SkillTerms], limit: usize) -> Vec<ScoredDocument> {
    let mut corpus = CorpusStats::default();
    for skill in skills {
        corpus.add(skill.lengths());
    }
    let mut scorer = Scorer::new(query, &corpus, skills.len());
    for (number, query_term) in query.terms().iter().enumerate() {
        scorer.add_term(number, postings(skills, &query_term.term));
    }
    scorer.top(limit)
}

/// The postings of a term in some skills.
pub(crate) fn postings<'a>(
    skills: &'a [SkillTerms],
    term: &'a str,
) -> impl Iterator<Item = Posting> + 'a {
    (0..).zip(skills).filter_map(move |(document, skill)| {
        Some(Posting {
            document,
            counts: skill.get(term)?,
            lengths: skill.lengths(),
        })
    })
}
