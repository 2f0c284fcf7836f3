//! Pages that queries have read, by key. Pages never change, and no key is used twice.

use std::sync::Arc;
use std::time::Duration;

use moka::future::Cache;

use super::indexed_page::IndexedPage;
use super::limits::PAGE_CACHE_BYTES;

/// When a page that no query has needed is forgotten. Another server may have merged its block, and
/// pages are read ahead only while there is room.
const UNUSED_FOR: Duration = Duration::from_secs(3600);

/// The pages that are read most.
pub(crate) struct PageCache(pub(super) Cache<i64, Arc<IndexedPage>>);

impl Default for PageCache {
    fn default() -> Self {
        let weigh =
            |_: &i64, page: &Arc<IndexedPage>| u32::try_from(page.memory()).unwrap_or(u32::MAX);
        let cache = Cache::builder().max_capacity(PAGE_CACHE_BYTES);
        PageCache(cache.weigher(weigh).time_to_idle(UNUSED_FOR).build())
    }
}
