//! The pages that may have terms of a query: which ones, how many a query may need, and reading
//! them.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use prowess_ranking::SkillQuery;

use super::block_rows::page_key;
use super::indexed_page::IndexedPage;
use super::limits::MAX_QUERY_PAGES;
use super::snapshot::IndexSnapshot;
use crate::Store;
use crate::db::{Database, Sql};
use crate::error::Result;

/// Pages that were read for a query.
#[derive(Default)]
pub(super) struct QueryPages {
    /// Ascending.
    keys: Vec<i64>,
    /// In order of their keys.
    pages: Vec<Arc<IndexedPage>>,
    /// The keys of those that were not in memory, ascending, and their bytes there.
    read: Vec<i64>,
    read_bytes: usize,
}

/// The pages of a block that may have a term.
pub(super) struct TermRange {
    /// The place of the term in the query.
    pub(super) term: usize,
    /// The place of the block in the snapshot, and its id.
    pub(super) block: usize,
    pub(super) id: i64,
    pub(super) pages: Range<usize>,
}

impl TermRange {
    pub(super) fn keys(&self) -> impl Iterator<Item = i64> {
        self.pages.clone().map(|page| page_key(self.id, page))
    }
}

impl QueryPages {
    /// Bytes of all pages.
    pub(super) fn bytes(&self) -> usize {
        self.pages.iter().map(|page| page.len()).sum()
    }

    /// How many pages were not in memory.
    pub(super) fn read(&self) -> usize {
        self.read.len()
    }

    /// How many of a block were not in memory.
    pub(super) fn read_of(&self, block: i64) -> usize {
        let before = |end: i64| self.read.partition_point(|key| *key < end);
        before(page_key(block + 1, 0)) - before(page_key(block, 0))
    }

    /// Bytes that those take in memory.
    pub(super) fn read_bytes(&self) -> usize {
        self.read_bytes
    }

    /// The pages of a range, all of whose keys were read.
    pub(super) fn of_range(&self, range: &TermRange) -> impl Iterator<Item = &IndexedPage> {
        range.keys().filter_map(|key| {
            let place = self.keys.binary_search(&key).ok()?;
            self.pages.get(place).map(Arc::as_ref)
        })
    }
}

impl Store {
    /// The pages with these keys, which may be in any order. `None` if one was removed.
    pub(super) async fn read_pages(&self, mut keys: Vec<i64>) -> Result<Option<QueryPages>> {
        sort_unique(&mut keys);
        let cache = &self.page_cache().0;
        let mut pages = Vec::with_capacity(keys.len());
        let mut missing = Vec::new();
        for key in &keys {
            let page = cache.get(key).await;
            if page.is_none() {
                missing.push(*key);
            }
            pages.push(page);
        }
        let mut read_bytes = 0;
        if !missing.is_empty() {
            let sql = select_pages(self.db().database(), &missing);
            for row in self.db().fetch_all(sql).await? {
                let content = row.optional_bytes("content")?.unwrap_or_default();
                let (key, page) = (row.int("key")?, Arc::new(IndexedPage::new(content)?));
                read_bytes += page.memory();
                cache.insert(key, Arc::clone(&page)).await;
                let place = keys.binary_search(&key).ok();
                if let Some(found) = place.and_then(|place| pages.get_mut(place)) {
                    *found = Some(page);
                }
            }
        }
        let pages: Option<Vec<_>> = pages.into_iter().collect();
        Ok(pages.map(|pages| QueryPages {
            keys,
            pages,
            read: missing,
            read_bytes,
        }))
    }
}

/// One value for all keys, so that the statement is prepared once.
pub(super) fn select_pages(database: Database, keys: &[i64]) -> Sql {
    match database {
        Database::Sqlite => Sql::new(
            "SELECT key, content FROM skill_pages
             WHERE key IN (SELECT value FROM json_each($1))",
        ),
        Database::Postgres => {
            Sql::new("SELECT key, content FROM skill_pages WHERE key = ANY($1::bigint[])")
        }
    }
    .bind(number_list(database, keys.iter().copied()))
}

/// Numbers as the text of a list.
pub(crate) fn number_list(database: Database, numbers: impl Iterator<Item = i64>) -> String {
    let (open, close) = match database {
        Database::Sqlite => ('[', ']'),
        Database::Postgres => ('{', '}'),
    };
    let mut text = String::from(open);
    for (at, number) in numbers.enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(text, "{comma}{number}");
    }
    text.push(close);
    text
}

/// The terms that a query goes without, because all its terms need too many pages: the most
/// frequent ones. This does not depend on what is in memory, so that a query always gives the same
/// list.
pub(super) fn terms_left_out(snapshot: &IndexSnapshot, query: &SkillQuery) -> Vec<usize> {
    left_out(&find_ranges(snapshot, query))
}

/// Where the terms of a query may be. Blocks that cannot have a term are left out.
fn find_ranges(snapshot: &IndexSnapshot, query: &SkillQuery) -> Vec<TermRange> {
    let mut ranges = Vec::new();
    for (term, query_term) in query.terms().iter().enumerate() {
        for (place, block) in snapshot.blocks.iter().enumerate() {
            let pages = block.documents.directory.pages_of(&query_term.term);
            if !pages.is_empty() {
                ranges.push(TermRange {
                    term,
                    block: place,
                    id: block.id,
                    pages,
                });
            }
        }
    }
    ranges
}

/// Of ranges in order of terms, the terms that are left out.
fn left_out(ranges: &[TermRange]) -> Vec<usize> {
    let pages_of = |ranges: &[TermRange]| -> usize {
        let pages = ranges.iter().map(|range| range.pages.len());
        pages.sum()
    };
    let by_term = ranges.chunk_by(|a, b| a.term == b.term);
    let mut by_term: Vec<_> = by_term.map(|ranges| (pages_of(ranges), ranges)).collect();
    // The sort is stable, so of terms with equally many pages the first ones stay.
    by_term.sort_by_key(|(pages, _)| *pages);
    let mut keys: Vec<i64> = Vec::new();
    let fits = |(pages, ranges): &(usize, &[TermRange])| {
        if keys.len() + pages > MAX_QUERY_PAGES {
            // Terms share pages.
            sort_unique(&mut keys);
            if keys.len() + pages > MAX_QUERY_PAGES {
                return false;
            }
        }
        keys.extend(ranges.iter().flat_map(TermRange::keys));
        true
    };
    let others = by_term.into_iter().skip_while(fits);
    others
        .filter_map(|(_, ranges)| Some(ranges.first()?.term))
        .collect()
}

fn sort_unique(keys: &mut Vec<i64>) {
    keys.sort_unstable();
    keys.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(term: usize, first: usize, pages: usize) -> TermRange {
        TermRange {
            term,
            block: 0,
            id: 1,
            pages: first..first + pages,
        }
    }

    #[test]
    fn a_query_goes_without_the_most_frequent_terms_if_there_are_too_many_pages() {
        let found = left_out(&[
            range(0, 10, MAX_QUERY_PAGES),
            range(1, 0, 3),
            range(2, 1, 4),
        ]);
        assert_eq!(found, [0]);
        // Once one does not fit, those that are as frequent or more are left out too.
        let half = MAX_QUERY_PAGES / 2;
        let found = left_out(&[
            range(0, 0, 3),
            range(1, 20_000, half),
            range(2, 10, half + 1),
            range(3, 30_000, half),
        ]);
        assert_eq!(found, [3, 2]);
    }

    #[test]
    fn pages_that_terms_share_count_once() {
        let ranges = [
            range(0, 7, MAX_QUERY_PAGES - 2),
            range(1, 5, 2),
            range(2, 5, 2),
        ];
        assert!(left_out(&ranges).is_empty());
        assert_eq!(
            left_out(&[range(0, 7, MAX_QUERY_PAGES - 1), range(1, 5, 2)]),
            [0]
        );
    }
}
