//! Pages that queries have read, by key. Pages never change, and no key is used twice.

use std::sync::Arc;

use moka::future::Cache;

use super::indexed_page::IndexedPage;
use super::limits::PAGE_CACHE_BYTES;

/// The pages that are read most.
pub(crate) struct PageCache(pub(super) Cache<i64, Arc<IndexedPage>>);

impl Default for PageCache {
    fn default() -> Self {
        let weigh =
            |_: &i64, page: &Arc<IndexedPage>| u32::try_from(page.memory()).unwrap_or(u32::MAX);
        let cache = Cache::builder().max_capacity(PAGE_CACHE_BYTES);
        PageCache(cache.weigher(weigh).build())
    }
}
