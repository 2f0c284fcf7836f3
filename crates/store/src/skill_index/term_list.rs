//! The postings of a term in a block, in memory: read once, then searched, and weighed for the mean
//! lengths of the documents that are ranked. It knows neither pages nor what is kept.

use std::sync::Arc;

use prowess_ranking::{DocumentFrequency, Field, FieldCounts, FieldNorms};

use super::posting::each_posting;
use crate::error::Result;

/// The documents of a block that have a term.
#[derive(Debug, Default, PartialEq)]
pub(super) struct TermList {
    /// Ascending.
    places: Box<[u32]>,
    /// How often the documents at these places have it.
    counts: Box<[FieldCounts]>,
    /// The places of those whose names or descriptions have it, and of those whose names have it.
    summarized: Box<[u32]>,
    named: Box<[u32]>,
    having: DocumentFrequency,
}

/// The weighed counts of a list's postings: 4 bytes for most of them, which are of neither names
/// nor descriptions.
#[derive(Debug, Clone)]
pub(super) struct WeighedPostings {
    /// Of all fields, in the order of the places.
    pub(super) whole: Arc<[f32]>,
    /// Of names and descriptions, in the order of the places that have these.
    pub(super) summaries: Arc<[f32]>,
}

impl WeighedPostings {
    /// Bytes that they take in memory.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.whole) + size_of_val(&*self.summaries)
    }
}

impl TermList {
    /// Reads the parts of a list, in their order, of a block with so many documents.
    pub(super) fn decode<'a>(
        parts: impl Iterator<Item = &'a [u8]>,
        documents: usize,
    ) -> Result<Self> {
        let (mut places, mut all_counts) = (Vec::new(), Vec::new());
        let (mut summarized, mut named) = (Vec::new(), Vec::new());
        let mut having = DocumentFrequency::default();
        let mut next = 0;
        for part in parts {
            each_posting(part, |found| {
                // Places are searched by bisection, and are those of documents.
                if found.place < next || found.place as usize >= documents {
                    return None;
                }
                next = found.place.saturating_add(1);
                places.push(found.place);
                all_counts.push(found.counts);
                having.add(found.counts);
                if found.counts.is_in_summary() {
                    summarized.push(found.place);
                }
                if found.counts.get(Field::Name) > 0 {
                    named.push(found.place);
                }
                Some(())
            })?;
        }
        Ok(TermList {
            places: places.into(),
            counts: all_counts.into(),
            summarized: summarized.into(),
            named: named.into(),
            having,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes that it takes in memory.
    pub(super) fn memory(&self) -> usize {
        let posting = size_of::<u32>() + size_of::<FieldCounts>();
        posting * self.places.len()
            + size_of_val(&*self.summarized)
            + size_of_val(&*self.named)
            + size_of::<Self>()
    }

    pub(super) fn places(&self) -> &[u32] {
        &self.places
    }

    /// The places of the documents whose names or descriptions have the term.
    pub(super) fn summarized(&self) -> &[u32] {
        &self.summarized
    }

    /// The places of the documents whose names have the term.
    pub(super) fn named(&self) -> &[u32] {
        &self.named
    }

    /// How many documents have the term, dead ones too.
    pub(super) fn having(&self) -> DocumentFrequency {
        self.having
    }

    /// All places, with how often the documents there have the term.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, FieldCounts)> {
        self.places.iter().copied().zip(self.counts.iter().copied())
    }

    /// Calls `accept` with those of some places, which are ascending, that are in the list.
    pub(super) fn each_of(&self, selected: &[u32], mut accept: impl FnMut(u32, FieldCounts)) {
        if selected.len() > self.places.len() {
            let found = self.iter();
            let found = found.filter(|(place, _)| selected.binary_search(place).is_ok());
            found.for_each(|(place, counts)| accept(place, counts));
            return;
        }
        for place in selected {
            let found = self.places.binary_search(place).ok();
            if let Some(counts) = found.and_then(|at| self.counts.get(at)) {
                accept(*place, *counts);
            }
        }
    }

    /// The weighed counts of all postings. `lengths` are those of the block's documents.
    pub(super) fn weigh(&self, norms: &FieldNorms, lengths: &[FieldCounts]) -> WeighedPostings {
        let mut summaries = Vec::with_capacity(self.summarized.len());
        let whole = self.iter().map(|(place, counts)| {
            let lengths = lengths.get(place as usize).copied();
            let weighed = norms.weigh(counts, lengths.unwrap_or_default());
            if counts.is_in_summary() {
                summaries.push(weighed.summary);
            }
            weighed.whole
        });
        WeighedPostings {
            whole: whole.collect(),
            summaries: summaries.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill_index::posting::{PlacedCounts, PostingWriter};
    use proptest::prelude::*;

    fn encoded(postings: &[(u32, FieldCounts)]) -> Vec<u8> {
        let mut writer = PostingWriter::default();
        for (place, counts) in postings {
            writer.push(PlacedCounts {
                place: *place,
                counts: *counts,
            });
        }
        writer.bytes
    }

    proptest! {
        #[test]
        fn places_are_found_in_a_list_of_several_parts(
            list in prop::collection::btree_map(0..300u32, (0..3u16, 0..3u16, 1..9u16), 0..60),
            selected in prop::collection::btree_set(0..300u32, 0..60),
            cut in any::<prop::sample::Index>(),
        ) {
            let postings: Vec<_> = list.iter().map(|(place, (name, description, body))| {
                (*place, FieldCounts::new([*name, *description, 0, *body]))
            }).collect();
            let (first, second) = postings.split_at(cut.index(postings.len() + 1));
            let parts = [encoded(first), encoded(second)];
            let found = TermList::decode(parts.iter().map(Vec::as_slice), 300).unwrap();
            prop_assert_eq!(found.iter().collect::<Vec<_>>(), postings.clone());
            let has = |field: Field| move |(_, counts): &&(u32, FieldCounts)| counts.get(field) > 0;
            let named = postings.iter().filter(has(Field::Name)).map(|(place, _)| *place);
            prop_assert_eq!(found.named(), named.collect::<Vec<_>>());
            let in_summary = postings.iter().filter(|own| {
                has(Field::Name)(own) || has(Field::Description)(own)
            });
            let in_summary: Vec<_> = in_summary.map(|(place, _)| *place).collect();
            prop_assert_eq!(found.summarized(), in_summary.as_slice());
            prop_assert_eq!(found.having().summary, in_summary.len() as u64);
            prop_assert_eq!(found.having().whole, postings.len() as u64);
            let mut common = Vec::new();
            let selected: Vec<_> = selected.into_iter().collect();
            found.each_of(&selected, |place, counts| common.push((place, counts)));
            let expected = postings.into_iter().filter(|(place, _)| selected.contains(place));
            prop_assert_eq!(common, expected.collect::<Vec<_>>());
        }

        #[test]
        fn no_bytes_make_reading_panic(parts: Vec<Vec<u8>>, documents in 0..1_000usize) {
            let _ = TermList::decode(parts.iter().map(Vec::as_slice), documents);
        }
    }

    #[test]
    fn places_that_cannot_be_are_refused() {
        let counts = FieldCounts::new([0, 0, 0, 1]);
        let (low, high) = (encoded(&[(3, counts)]), encoded(&[(7, counts)]));
        let decode = |parts: [&Vec<u8>; 2], documents| {
            TermList::decode(parts.into_iter().map(Vec::as_slice), documents)
        };
        assert!(decode([&low, &high], 8).is_ok());
        assert!(decode([&low, &high], 7).is_err());
        assert!(decode([&high, &low], 8).is_err());
        assert!(decode([&low, &low], 8).is_err());
    }
}
