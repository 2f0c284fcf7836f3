//! The posting lists of a query's terms, found once in their pages and read as often as needed.

use prowess_ranking::{Posting, SkillQuery};

use super::posting::each_posting;
use super::query_pages::QueryPages;
use super::snapshot::{IndexSnapshot, LiveBlock};
use crate::error::Result;

/// The lists of all terms of a query.
pub(super) struct TermLists<'a> {
    /// In order of terms, then of documents.
    in_blocks: Vec<BlockList<'a>>,
    /// Postings of recent documents with the places of their terms, in the same order.
    recent: Vec<(usize, Posting)>,
}

/// A list of a term in a block, or a part of a list that was cut.
struct BlockList<'a> {
    term: usize,
    block: &'a LiveBlock,
    /// The place of the block's first document.
    first: u32,
    bytes: &'a [u8],
}

impl<'a> TermLists<'a> {
    pub(super) fn find(
        query: &SkillQuery,
        snapshot: &'a IndexSnapshot,
        pages: &'a QueryPages,
    ) -> Self {
        let mut first = 0u32;
        let mut blocks = Vec::with_capacity(snapshot.blocks.len());
        for block in &snapshot.blocks {
            blocks.push((block, first));
            let documents = block.documents.lengths.len();
            first = first.saturating_add(u32::try_from(documents).unwrap_or(u32::MAX));
        }
        let mut in_blocks = Vec::new();
        for range in &pages.ranges {
            let block = blocks.get(range.block);
            let (Some((block, first)), Some(query_term)) = (block, query.terms().get(range.term))
            else {
                continue;
            };
            for page in pages.of_range(range) {
                let entries = page.entries_of(&query_term.term);
                in_blocks.extend(entries.map(|entry| BlockList {
                    term: range.term,
                    block,
                    first: *first,
                    bytes: entry.list,
                }));
            }
        }
        TermLists {
            in_blocks,
            recent: recent_postings(snapshot, first),
        }
    }

    /// Calls `accept` with the postings of a term of live and selected documents, in order of
    /// their places.
    pub(super) fn each_posting(
        &self,
        term: usize,
        is_selected: impl Fn(u32) -> bool,
        mut accept: impl FnMut(Posting),
    ) -> Result<()> {
        for list in of_term(&self.in_blocks, term, |list| list.term) {
            let (dead, lengths) = (&list.block.dead, &list.block.documents.lengths);
            each_posting(list.bytes, |found| {
                let document = list.first.saturating_add(found.place);
                if dead.contains(found.place) || !is_selected(document) {
                    return Some(());
                }
                accept(Posting {
                    document,
                    counts: found.counts,
                    lengths: *lengths.get(found.place as usize)?,
                });
                Some(())
            })?;
        }
        let recent = of_term(&self.recent, term, |(term, _)| *term);
        let recent = recent.iter().map(|(_, posting)| *posting);
        recent
            .filter(|posting| is_selected(posting.document))
            .for_each(accept);
        Ok(())
    }
}

/// The postings of recent documents, the first of which has the place `first`.
fn recent_postings(snapshot: &IndexSnapshot, first: u32) -> Vec<(usize, Posting)> {
    let mut postings = Vec::new();
    for (document, recent) in (first..).zip(&snapshot.recent) {
        for (term, counts) in &recent.terms {
            let posting = Posting {
                document,
                counts: *counts,
                lengths: recent.lengths,
            };
            postings.push((*term, posting));
        }
    }
    // The sort is stable: documents remain in order.
    postings.sort_by_key(|(term, _)| *term);
    postings
}

/// Those of a term, in a slice that is sorted by the places of terms.
fn of_term<T>(sorted: &[T], term: usize, term_of: impl Fn(&T) -> usize) -> &[T] {
    let start = sorted.partition_point(|one| term_of(one) < term);
    let rest = sorted.get(start..).unwrap_or_default();
    let end = rest.partition_point(|one| term_of(one) == term);
    rest.get(..end).unwrap_or_default()
}
