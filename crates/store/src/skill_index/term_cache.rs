//! The lists of terms that queries have read, by tenant and term. Blocks never change, so a list
//! stays right; its weighed counts are right as long as the mean lengths of the tenant's documents
//! are, and are computed again without reading pages when these have changed.
//!
//! One entry has the lists of all blocks: a query looks up each of its terms once.

use std::sync::Arc;

use moka::future::Cache;
use prowess_ranking::FieldNorms;

use super::limits::{MAX_KEPT_TERM_BYTES, TERM_CACHE_BYTES};
use super::term_list::{TermList, WeighedPostings};
use crate::tenant::TenantId;

/// What an entry takes beside its key and its lists.
const ENTRY_BYTES: usize = 256;

/// A list and its weighed counts.
#[derive(Debug, Clone)]
pub(super) struct WeighedList {
    pub(super) postings: Arc<TermList>,
    pub(super) weighed: WeighedPostings,
}

/// What is known of a term in a block.
#[derive(Debug, Clone)]
pub(super) struct KeptList {
    /// The block's id.
    pub(super) block: i64,
    /// Pages of the block that may have the term.
    pub(super) pages: usize,
    /// `None` if the block does not have it: most phrases of a query are in few blocks.
    pub(super) list: Option<WeighedList>,
}

/// The lists of a term in all blocks of a tenant.
#[derive(Debug)]
pub(super) struct KeptTerm {
    /// What the counts are weighed for.
    pub(super) norms: FieldNorms,
    /// In the order of the blocks of the query that has made them.
    pub(super) lists: Box<[KeptList]>,
}

impl KeptTerm {
    /// What is known of a block; `place` is where it probably is among the lists.
    pub(super) fn of_block(&self, block: i64, place: usize) -> Option<&KeptList> {
        let is_own = |kept: &&KeptList| kept.block == block;
        let here = self.lists.get(place).filter(is_own);
        here.or_else(|| self.lists.iter().find(is_own))
    }

    /// Bytes that it takes in memory, with those of its key.
    fn memory(&self, key: &[u8]) -> usize {
        let lists = self.lists.iter().filter_map(|kept| kept.list.as_ref());
        let lists = lists.map(|list| list.postings.memory() + list.weighed.memory());
        lists.sum::<usize>() + size_of_val(&*self.lists) + key.len() + ENTRY_BYTES
    }
}

/// A tenant and a term.
pub(super) type TermKey = Box<[u8]>;

/// Writes the key of a term. No tenant's id has the byte between them.
pub(super) fn write_key(tenant: &TenantId, term: &str, key: &mut Vec<u8>) {
    key.clear();
    key.extend_from_slice(tenant.as_str().as_bytes());
    key.push(0);
    key.extend_from_slice(term.as_bytes());
}

/// The terms that are searched most, of all tenants.
pub(crate) struct TermCache(pub(super) Cache<TermKey, Arc<KeptTerm>>);

impl Default for TermCache {
    fn default() -> Self {
        let weigh = |key: &TermKey, term: &Arc<KeptTerm>| {
            u32::try_from(term.memory(key)).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder().max_capacity(TERM_CACHE_BYTES);
        TermCache(cache.weigher(weigh).build())
    }
}

impl TermCache {
    /// Keeps terms that a query has read. One that would take the place of too many others is not
    /// kept.
    pub(super) async fn keep(&self, terms: Vec<(TermKey, Arc<KeptTerm>)>) {
        if terms.is_empty() {
            return;
        }
        for (key, term) in terms {
            if term.memory(&key) <= MAX_KEPT_TERM_BYTES {
                self.0.insert(key, term).await;
            }
        }
        // Entries are large, and without this only a later operation evicts others.
        self.0.run_pending_tasks().await;
    }
}
