//! Pages: sorted terms with their postings; and the directory of a block's pages.
//!
//! An entry of a page is a term, how many documents have it, and its postings. A long list
//! is cut into several entries of the same term, on consecutive pages, each of which can be
//! read alone. The directory has the first term of each page.

use std::ops::Range;

use prowess_ranking::{read_varint, write_varint};

use super::limits::{MAX_LIST_BYTES, PAGE_BYTES};
use super::posting::{PlacedCounts, PostingWriter, malformed_page};
use crate::error::Result;

/// An entry of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageEntry<'a> {
    pub(super) term: &'a [u8],
    /// Documents in this entry.
    pub(super) documents: u32,
    /// Their postings.
    pub(super) list: &'a [u8],
}

/// Reads the first entry of the rest of a page, and advances it; `None` at the end.
pub(super) fn read_entry<'a>(page: &mut &'a [u8]) -> Result<Option<PageEntry<'a>>> {
    if page.is_empty() {
        return Ok(None);
    }
    let read = |page: &mut &'a [u8]| {
        Some(PageEntry {
            term: read_slice(page)?,
            documents: u32::try_from(read_varint(page)?).ok()?,
            list: read_slice(page)?,
        })
    };
    read(page).map(Some).ok_or_else(malformed_page)
}

pub(super) fn read_slice<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(read_varint(bytes)?).ok()?;
    let (slice, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(slice)
}

pub(super) fn write_slice(slice: &[u8], bytes: &mut Vec<u8>) {
    write_varint(slice.len() as u64, bytes);
    bytes.extend_from_slice(slice);
}

/// The first term of each page of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PageDirectory {
    terms: Vec<u8>,
    /// Where each term ends in `terms`.
    ends: Vec<u32>,
}

impl PageDirectory {
    pub(super) fn push(&mut self, term: &[u8]) {
        self.terms.extend_from_slice(term);
        self.ends
            .push(u32::try_from(self.terms.len()).unwrap_or(u32::MAX));
    }

    pub(super) fn pages(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn memory(&self) -> usize {
        self.terms.len() + 4 * self.ends.len()
    }

    fn term(&self, page: usize) -> &[u8] {
        let end_of = |page: usize| self.ends.get(page).map_or(0, |end| *end as usize);
        let start = page.checked_sub(1).map_or(0, end_of);
        self.terms.get(start..end_of(page)).unwrap_or_default()
    }

    pub(super) fn terms(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.pages()).map(|page| self.term(page))
    }

    /// Whether the block may have a term: it is not before the first one. Triggers sort before all
    /// words, and most blocks have none.
    pub(super) fn may_have(&self, term: &str) -> bool {
        term.as_bytes() >= self.term(0)
    }

    /// The pages that may have a term.
    pub(super) fn pages_of(&self, term: &str) -> Range<usize> {
        if !self.may_have(term) {
            return 0..0;
        }
        let term = term.as_bytes();
        let end = self.partition_point(|first| first <= term);
        let mut first = end;
        while let Some(before) = first.checked_sub(1)
            && self.term(before) == term
        {
            first = before;
        }
        first.saturating_sub(1)..end
    }

    fn partition_point(&self, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.pages());
        while low < high {
            let middle = low.midpoint(high);
            if is_before(self.term(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Writes pages: terms in ascending order, and the postings of each in order of places.
#[derive(Debug, Default)]
pub(super) struct PageWriter {
    term: Vec<u8>,
    list: PostingWriter,
    page: Vec<u8>,
    finished: Vec<Vec<u8>>,
    directory: PageDirectory,
}

impl PageWriter {
    pub(super) fn begin_term(&mut self, term: &[u8]) {
        self.end_entry();
        self.term.clear();
        self.term.extend_from_slice(term);
    }

    pub(super) fn push(&mut self, posting: PlacedCounts) {
        if self.list.bytes.len() >= MAX_LIST_BYTES {
            self.end_entry();
        }
        self.list.push(posting);
    }

    /// Finished pages that have not been taken.
    pub(super) fn finished(&self) -> usize {
        self.finished.len()
    }

    /// The finished pages, in order after those that were taken before.
    pub(super) fn take_finished(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.finished)
    }

    /// The pages that were not taken, and the directory of all.
    pub(super) fn finish(mut self) -> (Vec<Vec<u8>>, PageDirectory) {
        self.end_entry();
        self.end_page();
        (self.finished, self.directory)
    }

    fn end_entry(&mut self) {
        let list = std::mem::take(&mut self.list);
        if list.documents == 0 {
            return;
        }
        if !self.page.is_empty()
            && self.page.len() + self.term.len() + list.bytes.len() > PAGE_BYTES
        {
            self.end_page();
        }
        if self.page.is_empty() {
            self.directory.push(&self.term);
        }
        write_slice(&self.term, &mut self.page);
        write_varint(u64::from(list.documents), &mut self.page);
        write_slice(&list.bytes, &mut self.page);
    }

    fn end_page(&mut self) {
        if !self.page.is_empty() {
            self.finished.push(std::mem::take(&mut self.page));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill_index::indexed_page::IndexedPage;
    use crate::skill_index::posting::each_posting;
    use prowess_ranking::FieldCounts;

    fn postings_of(pages: &[Vec<u8>], directory: &PageDirectory, term: &str) -> Vec<u32> {
        let mut places = Vec::new();
        for page in &pages[directory.pages_of(term)] {
            let page = IndexedPage::new(page.clone()).unwrap();
            for entry in page.entries_of(term) {
                let before = places.len();
                let read = each_posting(entry.list, |posting| {
                    places.push(posting.place);
                    Some(())
                });
                read.unwrap();
                assert_eq!(places.len() - before, entry.documents as usize);
            }
        }
        places
    }

    #[test]
    fn terms_are_found_on_their_pages_however_long_their_lists_are() {
        let counts = FieldCounts::new([1, 0, 0, 0]);
        let mut writer = PageWriter::default();
        let lists = [
            ("alpha", 1),
            ("beta", 500),
            ("gamma", 3),
            ("rho", 90),
            ("tau", 2),
        ];
        for (term, documents) in lists {
            writer.begin_term(term.as_bytes());
            for place in 0..documents {
                writer.push(PlacedCounts {
                    place: place * 7,
                    counts,
                });
            }
        }
        let (pages, directory) = writer.finish();
        assert!(pages.len() > 5, "{} pages", pages.len());
        assert_eq!(pages.len(), directory.pages());
        assert!(pages.iter().all(|page| page.len() <= PAGE_BYTES + 10));
        for (term, documents) in lists {
            let expected: Vec<_> = (0..documents).map(|place| place * 7).collect();
            assert_eq!(postings_of(&pages, &directory, term), expected, "{term}");
        }
        for term in ["", "aaa", "alphab", "bet", "zeta"] {
            assert!(postings_of(&pages, &directory, term).is_empty(), "{term}");
        }
    }
}
