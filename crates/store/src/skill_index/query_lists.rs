//! What a query knows of its terms before it ranks: lists that are kept in memory, and pages with
//! those that are missing. It reads; it decodes and ranks nothing.

use std::sync::Arc;

use prowess_ranking::{FieldNorms, SkillQuery};

use super::limits::{INLINE_POSTINGS, INLINE_RANKING_BYTES, MAX_QUERY_PAGES};
use super::query_pages::{QueryPages, TermRange, terms_left_out};
use super::snapshot::IndexSnapshot;
use super::term_cache::{KeptTerm, TermKey, write_key};
use crate::Store;
use crate::error::Result;
use crate::tenant::TenantId;

/// How many weighed postings can be added up while one is weighed.
const WEIGHING_COST: usize = 4;

/// The terms of a query, and where their lists are.
pub(super) struct QueryLists {
    /// What counts are weighed for.
    pub(super) norms: FieldNorms,
    /// In the order of the query's terms.
    pub(super) terms: Vec<TermSource>,
    /// All that the terms are missing.
    pub(super) pages: QueryPages,
}

/// Where the lists of a term are.
pub(super) enum TermSource {
    /// No block has it, or the query goes without it.
    Absent,
    /// In memory.
    Kept(Arc<KeptTerm>),
    /// In memory for some blocks, or weighed for other mean lengths.
    Incomplete(IncompleteTerm),
}

/// A term some of whose lists must be read or weighed.
pub(super) struct IncompleteTerm {
    pub(super) key: TermKey,
    pub(super) kept: Option<Arc<KeptTerm>>,
    /// The blocks of which nothing is known, with their pages; there may be none.
    pub(super) missing: Vec<TermRange>,
}

impl TermSource {
    fn missing(&self) -> &[TermRange] {
        match self {
            TermSource::Incomplete(term) => &term.missing,
            TermSource::Absent | TermSource::Kept(_) => &[],
        }
    }
}

impl QueryLists {
    /// Whether ranking is so little work that no other request waits for it. `places` are those
    /// of all documents; `other_bytes` are read besides pages.
    pub(super) fn is_little_work(&self, places: usize, other_bytes: usize) -> bool {
        let postings = |kept: &KeptTerm| -> usize {
            let lists = kept.lists.iter().filter_map(|kept| kept.list.as_ref());
            lists.map(|list| list.postings.len()).sum()
        };
        let work = self.terms.iter().map(|term| match term {
            TermSource::Absent => 0,
            TermSource::Kept(kept) => postings(kept),
            TermSource::Incomplete(term) => {
                WEIGHING_COST * term.kept.as_deref().map_or(0, postings)
            }
        });
        work.sum::<usize>() + places <= INLINE_POSTINGS
            && self.pages.bytes() + other_bytes <= INLINE_RANKING_BYTES
    }
}

impl Store {
    /// Where the lists of a query's terms are. `None` if a page was removed.
    pub(super) async fn query_lists(
        &self,
        tenant: &TenantId,
        snapshot: &IndexSnapshot,
        query: &SkillQuery,
    ) -> Result<Option<QueryLists>> {
        let norms = FieldNorms::new(&snapshot.stats);
        let mut terms = Vec::with_capacity(query.terms().len());
        let mut key = Vec::new();
        let mut all_pages = 0;
        for (at, query_term) in query.terms().iter().enumerate() {
            let term = query_term.term.as_str();
            // Most phrases of a query are no trigger of any skill.
            if !snapshot.may_have(term) {
                terms.push(TermSource::Absent);
                continue;
            }
            write_key(tenant, term, &mut key);
            let kept = self.term_cache().0.get(key.as_slice()).await;
            let (pages, missing) = find_missing(snapshot, at, term, kept.as_deref());
            all_pages += pages;
            terms.push(match kept {
                Some(kept) if missing.is_empty() && kept.norms.weighs_like(&norms) => {
                    TermSource::Kept(kept)
                }
                None if pages == 0 => TermSource::Absent,
                kept => TermSource::Incomplete(IncompleteTerm {
                    key: key.as_slice().into(),
                    kept,
                    missing,
                }),
            });
        }
        if all_pages > MAX_QUERY_PAGES {
            for term in terms_left_out(snapshot, query) {
                if let Some(source) = terms.get_mut(term) {
                    *source = TermSource::Absent;
                }
            }
        }
        let missing = terms.iter().flat_map(TermSource::missing);
        let pages = self
            .read_pages(missing.flat_map(TermRange::keys).collect())
            .await?;
        if let Some(pages) = &pages
            && pages.read() > 0
        {
            drop(self.read_ahead(snapshot, pages).await);
        }
        Ok(pages.map(|pages| QueryLists {
            norms,
            terms,
            pages,
        }))
    }
}

/// How many pages may have a term, and the blocks of which nothing is known.
fn find_missing(
    snapshot: &IndexSnapshot,
    at: usize,
    term: &str,
    kept: Option<&KeptTerm>,
) -> (usize, Vec<TermRange>) {
    let mut all_pages = 0;
    let mut missing = Vec::new();
    for (place, block) in snapshot.blocks.iter().enumerate() {
        if let Some(known) = kept.and_then(|kept| kept.of_block(block.id, place)) {
            all_pages += known.pages;
            continue;
        }
        let pages = block.documents.directory.pages_of(term);
        all_pages += pages.len();
        missing.push(TermRange {
            term: at,
            block: place,
            id: block.id,
            pages,
        });
    }
    (all_pages, missing)
}
