//! The terms of a tenant's recent documents by their hashes, so that a query reads those of its own
//! terms only.
//!
//! A hash stands for its term. It has 64 bits and a random key, so that nobody can choose two terms
//! with the same one; by chance, fewer than one query in 10^11 finds a term that is not there.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use prowess_ranking::{FieldCounts, InvalidTerms, SkillQuery, each_encoded_term};

use super::recent_matches::{RecentMatch, RecentMatches};

/// An index of recent documents. A document's place is its place among the numbers.
#[derive(Debug)]
pub(super) struct RecentIndex {
    /// Ascending.
    numbers: Vec<i64>,
    lengths: Vec<FieldCounts>,
    hasher: RandomState,
    /// In order of hashes, then of places.
    postings: Box<[HashedPosting]>,
}

#[derive(Debug, Clone, Copy)]
struct HashedPosting {
    hash: u64,
    place: u32,
    counts: FieldCounts,
}

impl RecentIndex {
    /// Reads encoded documents with their numbers, which are ascending.
    pub(super) fn new<'a>(
        documents: impl Iterator<Item = (i64, &'a [u8])>,
    ) -> Result<Self, InvalidTerms> {
        let hasher = RandomState::new();
        let (mut numbers, mut all_lengths) = (Vec::new(), Vec::new());
        let mut postings = Vec::new();
        for (place, (number, terms)) in (0..).zip(documents) {
            let lengths = each_encoded_term(terms, |term, counts| {
                postings.push(HashedPosting {
                    hash: hasher.hash_one(term),
                    place,
                    counts,
                });
            })?;
            numbers.push(number);
            all_lengths.push(lengths);
        }
        postings.sort_unstable_by_key(|posting| (posting.hash, posting.place));
        Ok(RecentIndex {
            numbers,
            lengths: all_lengths,
            hasher,
            postings: postings.into(),
        })
    }

    /// The numbers of its documents.
    pub(super) fn numbers(&self) -> &[i64] {
        &self.numbers
    }

    /// Bytes that it takes in memory.
    pub(super) fn memory(&self) -> usize {
        let document = size_of::<i64>() + size_of::<FieldCounts>();
        document * self.numbers.len() + size_of_val(&*self.postings) + size_of::<Self>()
    }

    /// All documents, with the terms of a query that they have.
    pub(super) fn matches(&self, query: &SkillQuery) -> RecentMatches {
        let mut found = Vec::new();
        for (term, query_term) in query.terms().iter().enumerate() {
            let hash = self.hasher.hash_one(query_term.term.as_str());
            let start = self.postings.partition_point(|own| own.hash < hash);
            let postings = self.postings.iter().skip(start);
            let postings = postings.take_while(|own| own.hash == hash);
            found.extend(postings.map(|own| RecentMatch {
                term,
                place: own.place,
                counts: own.counts,
            }));
        }
        RecentMatches::new(self.numbers.clone(), self.lengths.clone(), found)
    }
}
