//! The pages that may have the terms of a query. Each term is looked up once in the directory
//! of each block.

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

/// Where the terms of a query may be, and these pages.
pub(super) struct QueryPages {
    /// In order of terms, then of blocks.
    pub(super) ranges: Vec<TermRange>,
    /// Ascending.
    keys: Vec<i64>,
    /// In order of their keys.
    pages: Vec<Arc<IndexedPage>>,
}

/// The pages of a block that may have a term.
pub(super) struct TermRange {
    /// The place of the term in the query.
    pub(super) term: usize,
    /// The place of the block in the snapshot, and its id.
    pub(super) block: usize,
    id: i64,
    pages: Range<usize>,
}

impl TermRange {
    fn keys(&self) -> impl Iterator<Item = i64> {
        self.pages.clone().map(|page| page_key(self.id, page))
    }
}

impl QueryPages {
    /// Bytes of all pages.
    pub(super) fn bytes(&self) -> usize {
        self.pages.iter().map(|page| page.len()).sum()
    }

    /// The pages of a range. One is absent if its term is too frequent for a query with so many
    /// terms.
    pub(super) fn of_range(&self, range: &TermRange) -> impl Iterator<Item = &IndexedPage> {
        range.keys().filter_map(|key| {
            let place = self.keys.binary_search(&key).ok()?;
            self.pages.get(place).map(Arc::as_ref)
        })
    }
}

impl Store {
    /// The pages that may have the terms of a query. `None` if one was removed.
    pub(super) async fn query_pages(
        &self,
        snapshot: &IndexSnapshot,
        query: &SkillQuery,
    ) -> Result<Option<QueryPages>> {
        let ranges = find_ranges(snapshot, query);
        let keys = needed_keys(&ranges);
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
        if !missing.is_empty() {
            let sql = select_pages(self.db().database(), &missing);
            for row in self.db().fetch_all(sql).await? {
                let content = row.optional_bytes("content")?.unwrap_or_default();
                let (key, page) = (row.int("key")?, Arc::new(IndexedPage::new(content)?));
                cache.insert(key, Arc::clone(&page)).await;
                let place = keys.binary_search(&key).ok();
                if let Some(found) = place.and_then(|place| pages.get_mut(place)) {
                    *found = Some(page);
                }
            }
        }
        let pages: Option<Vec<_>> = pages.into_iter().collect();
        Ok(pages.map(|pages| QueryPages {
            ranges,
            keys,
            pages,
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

/// The keys of the pages of a query's terms, without those of the most frequent terms if there
/// are too many.
fn needed_keys(ranges: &[TermRange]) -> Vec<i64> {
    let pages_of = |ranges: &[TermRange]| -> usize {
        let pages = ranges.iter().map(|range| range.pages.len());
        pages.sum()
    };
    let by_term = ranges.chunk_by(|a, b| a.term == b.term);
    let mut by_term: Vec<_> = by_term.map(|ranges| (pages_of(ranges), ranges)).collect();
    // The sort is stable, so of terms with equally many pages the first ones stay.
    by_term.sort_by_key(|(pages, _)| *pages);
    let mut keys: Vec<i64> = Vec::new();
    for (pages, ranges) in by_term {
        if keys.len() + pages > MAX_QUERY_PAGES {
            // Terms share pages.
            sort_unique(&mut keys);
            if keys.len() + pages > MAX_QUERY_PAGES {
                break;
            }
        }
        keys.extend(ranges.iter().flat_map(TermRange::keys));
    }
    sort_unique(&mut keys);
    keys
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

    fn pages(ranges: &[TermRange]) -> Vec<i64> {
        let keys = needed_keys(ranges).into_iter();
        keys.map(|key| key - page_key(1, 0)).collect()
    }

    #[test]
    fn a_query_goes_without_the_most_frequent_terms_if_there_are_too_many_pages() {
        let found = pages(&[
            range(0, 10, MAX_QUERY_PAGES),
            range(1, 0, 3),
            range(2, 1, 4),
        ]);
        assert_eq!(found, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn pages_that_terms_share_count_once() {
        let found = pages(&[
            range(0, 7, MAX_QUERY_PAGES - 2),
            range(1, 5, 2),
            range(2, 5, 2),
        ]);
        assert_eq!(found.len(), MAX_QUERY_PAGES);
        assert!(
            found
                .iter()
                .zip(5..)
                .all(|(page, expected)| *page == expected)
        );
    }
}
