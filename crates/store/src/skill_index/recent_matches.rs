//! Recent documents as a query sees them: their numbers and lengths, and the terms of the query
//! that they have. Where these come from it does not know.

use prowess_ranking::FieldCounts;

/// The recent documents of a tenant, with the terms of a query that they have. A document's place
/// is its place among the numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RecentMatches {
    /// Ascending.
    pub(super) numbers: Vec<i64>,
    lengths: Vec<FieldCounts>,
    /// In order of terms, then of documents.
    found: Vec<RecentMatch>,
}

/// A term of the query that a recent document has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecentMatch {
    /// The place of the term in the query.
    pub(super) term: usize,
    /// The place of the document.
    pub(super) place: u32,
    pub(super) counts: FieldCounts,
}

impl RecentMatches {
    /// `found` is in order of documents.
    pub(super) fn new(
        numbers: Vec<i64>,
        lengths: Vec<FieldCounts>,
        mut found: Vec<RecentMatch>,
    ) -> Self {
        // The sort is stable: documents remain in order.
        found.sort_by_key(|found| found.term);
        RecentMatches {
            numbers,
            lengths,
            found,
        }
    }

    /// The places of the documents that have a term, and how often.
    pub(super) fn of_term(&self, term: usize) -> impl Iterator<Item = (u32, FieldCounts)> {
        let start = self.found.partition_point(|found| found.term < term);
        let found = self.found.iter().skip(start);
        let found = found.take_while(move |found| found.term == term);
        found.map(|found| (found.place, found.counts))
    }

    /// The lengths of the document at a place.
    pub(super) fn lengths(&self, place: u32) -> FieldCounts {
        let lengths = self.lengths.get(place as usize).copied();
        lengths.unwrap_or_default()
    }

    /// The lengths of all documents.
    pub(super) fn all_lengths(&self) -> &[FieldCounts] {
        &self.lengths
    }
}
