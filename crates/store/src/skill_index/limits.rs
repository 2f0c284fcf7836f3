//! Sizes of blocks and pages. Tests use small blocks, so that few skills make many.

use std::time::Duration;

/// Documents that are recent before they become a block.
pub(super) const MAX_RECENT_DOCUMENTS: i64 = if cfg!(test) { 4 } else { 64 };
/// Bytes of the terms of recent documents before they become a block: a query reads all of
/// them.
pub(super) const MAX_RECENT_BYTES: i64 = 512 << 10;
/// Neighbouring blocks of one size that are merged.
pub(super) const MERGED_BLOCKS: usize = if cfg!(test) { 3 } else { 8 };
/// Once a tenant's index is not changing, a block is merged with all later ones, unless it is more
/// than this many times as large as they are together. Each merge makes it larger by a third at
/// least.
pub(super) const QUIET_MERGE_RATIO: u64 = 3;
/// How long after its last new block a tenant's index counts as not changing.
pub(super) const QUIET_AFTER: Duration = Duration::from_secs(2);
/// Documents of a block that is not merged any more.
pub(super) const MAX_BLOCK_DOCUMENTS: u64 = if cfg!(test) { 40 } else { 32_768 };
/// Bytes of a page. PostgreSQL stores rows of up to 8 kB in one place.
pub(super) const PAGE_BYTES: usize = if cfg!(test) { 120 } else { 4_000 };
/// Bytes of the postings of one term in one page. Longer lists continue on the next page.
pub(super) const MAX_LIST_BYTES: usize = if cfg!(test) { 40 } else { 3_600 };
/// Pages of a block: the bits of a page's key that number it.
pub(super) const PAGE_BITS: u32 = 20;
/// Bits of a block's id.
pub(super) const BLOCK_BITS: u32 = 42;
/// Pages that are inserted by one statement.
pub(super) const PAGE_ROWS: usize = 64;
/// Pages with the terms of a query, whether or not their lists are in memory. A query that needs
/// more goes without its most frequent terms, which say least.
pub(super) const MAX_QUERY_PAGES: usize = 8_192;
/// Bytes of pages to decode and of vectors to compare above which a query is ranked on another
/// thread.
pub(super) const INLINE_RANKING_BYTES: usize = 128 << 10;
/// Postings to add up above which a query is ranked on another thread: about as much work as to
/// decode [`INLINE_RANKING_BYTES`].
pub(super) const INLINE_POSTINGS: usize = if cfg!(test) { 200 } else { 200_000 };
/// Memory for the lists of terms that queries have read, of all tenants together. Most postings take
/// 16 bytes, so all lists of some thousand skills fit, and the frequent terms of many more. Without
/// it, each search reads and weighs all postings of its terms.
pub(super) const TERM_CACHE_BYTES: u64 = if cfg!(test) { 64 << 10 } else { 64 << 20 };
/// Maximum bytes of one term there; a larger one is not kept.
pub(super) const MAX_KEPT_TERM_BYTES: usize = (TERM_CACHE_BYTES / 8) as usize;
/// Memory for pages that queries have read, of all tenants together. They are read for lists that
/// are not in memory: neighbouring terms are on the same pages, and new terms of a query often on
/// pages of other queries.
pub(super) const PAGE_CACHE_BYTES: u64 = 32 << 20;
/// The share of a block's pages that queries read before all are read, if there is room.
pub(super) const READ_AHEAD_SHARE: usize = 8;
/// Pages that are read by one statement then.
pub(super) const READ_AHEAD_PAGES: usize = if cfg!(test) { 2 } else { 256 };
/// Memory for the terms of recent documents and their indexes, of all tenants together. Without it,
/// each search reads all of them: up to 512 KB.
pub(super) const RECENT_CACHE_BYTES: u64 = 24 << 20;
/// Queries that read all terms of the same recent documents before these are indexed.
pub(super) const READS_BEFORE_INDEX: u32 = if cfg!(test) { 2 } else { 8 };
/// Memory for the documents of blocks, of all tenants together.
pub(super) const CACHE_BYTES: u64 = 16 << 20;
/// How long the pages of a merged block remain, for queries that have read the list of
/// blocks before. Longer than a statement may take.
pub(super) const RETIRED_FOR: Duration = Duration::from_secs(120);
/// How long a merge may take. What it leaves behind after a crash is removed then.
pub(super) const MERGE_TIMEOUT: Duration = Duration::from_secs(3600);
