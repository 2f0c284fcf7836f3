//! Postings: the documents that have a term, with its number per field, as bytes.
//!
//! A posting is the distance from the document before it, and the numbers.

use prowess_ranking::{FieldCounts, read_varint, write_varint};

use crate::error::{Error, Result};

/// A document that has a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlacedCounts {
    /// The document's place in its block.
    pub(super) place: u32,
    /// How often the term occurs in each field.
    pub(super) counts: FieldCounts,
}

/// Writes a list in order of places.
#[derive(Debug, Default)]
pub(super) struct PostingWriter {
    pub(super) bytes: Vec<u8>,
    pub(super) documents: u32,
    next: u32,
}

impl PostingWriter {
    pub(super) fn push(&mut self, posting: PlacedCounts) {
        let distance = posting.place.saturating_sub(self.next);
        write_varint(u64::from(distance), &mut self.bytes);
        posting.counts.write(&mut self.bytes);
        self.next = posting.place.saturating_add(1);
        self.documents += 1;
    }
}

/// Reads a list.
pub(super) struct PostingReader<'a> {
    bytes: &'a [u8],
    next: u32,
}

impl<'a> PostingReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        PostingReader { bytes, next: 0 }
    }

    /// The next posting; `None` at the end.
    pub(super) fn read(&mut self) -> Result<Option<PlacedCounts>> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        self.read_bytes().map(Some).ok_or_else(malformed_page)
    }

    #[inline]
    fn read_bytes(&mut self) -> Option<PlacedCounts> {
        let distance = u32::try_from(read_varint(&mut self.bytes)?).ok()?;
        let place = self.next.checked_add(distance)?;
        self.next = place.saturating_add(1);
        let counts = FieldCounts::read(&mut self.bytes)?;
        Some(PlacedCounts { place, counts })
    }
}

/// Calls `accept` with each posting of a list; it returns `None` for one that cannot be.
#[inline]
pub(super) fn each_posting(
    list: &[u8],
    mut accept: impl FnMut(PlacedCounts) -> Option<()>,
) -> Result<()> {
    let mut reader = PostingReader::new(list);
    while !reader.bytes.is_empty() {
        let accepted = reader.read_bytes().and_then(&mut accept);
        accepted.ok_or_else(malformed_page)?;
    }
    Ok(())
}

/// A page that this program has not written.
pub(super) fn malformed_page() -> Error {
    Error::MalformedRow {
        table: "skill_pages",
        reason: "the page cannot be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_list_reads_back_as_it_was_written(
            list in prop::collection::btree_map(0..100_000u32, (1..300u16, 0..20u16), 0..50)
        ) {
            let postings: Vec<_> = list.iter().map(|(place, (name, body))| PlacedCounts {
                place: *place,
                counts: FieldCounts::new([*name, 0, 0, *body]),
            }).collect();
            let mut writer = PostingWriter::default();
            postings.iter().for_each(|posting| writer.push(*posting));
            let mut reader = PostingReader::new(&writer.bytes);
            let mut found = Vec::new();
            while let Some(posting) = reader.read().unwrap() {
                found.push(posting);
            }
            prop_assert_eq!(found, postings);
        }

        #[test]
        fn no_bytes_make_reading_panic(bytes: Vec<u8>) {
            let mut reader = PostingReader::new(&bytes);
            while let Ok(Some(_)) = reader.read() {}
        }
    }
}
