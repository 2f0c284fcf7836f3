//! A page in memory, with the places of its entries: a query finds a term without reading the
//! entries before it. Most terms of a query are phrases that no skill has.

use super::page::{PageEntry, read_entry};
use super::posting::malformed_page;
use crate::error::Result;

/// A page, and where its entries begin.
#[derive(Debug)]
pub(super) struct IndexedPage {
    bytes: Vec<u8>,
    starts: Vec<u32>,
}

impl IndexedPage {
    /// Reads all entries of a page once.
    pub(super) fn new(bytes: Vec<u8>) -> Result<Self> {
        let mut starts = Vec::new();
        let mut rest = bytes.as_slice();
        loop {
            let start = bytes.len() - rest.len();
            if read_entry(&mut rest)?.is_none() {
                return Ok(Self { bytes, starts });
            }
            starts.push(u32::try_from(start).map_err(|_| malformed_page())?);
        }
    }

    /// Bytes of the page itself.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes that it takes in memory.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + size_of::<u32>() * self.starts.capacity() + size_of::<Self>()
    }

    /// The entries of a term: a list may be cut within a page.
    pub(super) fn entries_of(&self, term: &str) -> impl Iterator<Item = PageEntry<'_>> {
        let term = term.as_bytes();
        let is_before = |start: &u32| self.entry(*start).is_some_and(|entry| entry.term < term);
        let first = self.starts.partition_point(is_before);
        let entries = self.starts.iter().skip(first);
        let entries = entries.map_while(move |start| self.entry(*start));
        entries.take_while(move |entry| entry.term == term)
    }

    /// The entry that begins at a place.
    fn entry(&self, start: u32) -> Option<PageEntry<'_>> {
        let mut rest = self.bytes.get(start as usize..)?;
        read_entry(&mut rest).ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_page_that_ends_within_an_entry_is_refused() {
        assert!(IndexedPage::new(vec![5, b'a', b'b']).is_err());
        assert_eq!(IndexedPage::new(Vec::new()).unwrap().len(), 0);
    }

    proptest! {
        #[test]
        fn no_bytes_make_reading_panic(bytes: Vec<u8>, term: String) {
            if let Ok(page) = IndexedPage::new(bytes) {
                let _ = page.entries_of(&term).count();
            }
        }
    }
}
