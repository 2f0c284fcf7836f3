//! Reads all pages of a block once queries have read many of them, if there is room for all: each
//! query with a term that is new to this server asks the database otherwise.
//!
//! Nothing is read ahead if it would take the place of other pages, as far as the room can be
//! estimated: one tenant's index is not to displace another's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use moka::future::Cache;
use tokio::task::JoinHandle;

use super::block_rows::page_key;
use super::indexed_page::IndexedPage;
use super::limits::{PAGE_CACHE_BYTES, READ_AHEAD_PAGES, READ_AHEAD_SHARE};
use super::query_pages::QueryPages;
use super::snapshot::{IndexSnapshot, LiveBlock};
use crate::Store;
use crate::db::Sql;
use crate::error::Result;

/// Blocks whose pages are counted. Of others, counting begins anew.
const COUNTED_BLOCKS: u64 = 10_000;

/// How many pages of blocks queries have read from the database.
pub(crate) struct PageReads {
    of_blocks: Cache<i64, Arc<AtomicUsize>>,
    /// Whether a block is being read: one at a time.
    is_reading: AtomicBool,
}

impl Default for PageReads {
    fn default() -> Self {
        PageReads {
            of_blocks: Cache::builder().max_capacity(COUNTED_BLOCKS).build(),
            is_reading: AtomicBool::new(false),
        }
    }
}

impl PageReads {
    /// Counts pages that were read of a block; returns whether another share of it was read.
    async fn add(&self, block: &LiveBlock, read: usize) -> bool {
        let share = (block.documents.directory.pages() / READ_AHEAD_SHARE).max(1);
        let counter = self.of_blocks.get_with(block.id, async { Arc::default() });
        let before = counter.await.fetch_add(read, Ordering::Relaxed);
        before / share != (before + read) / share
    }
}

/// Lets another block be read when this one was, or was not.
struct Reading(Store);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0
            .page_reads()
            .is_reading
            .store(false, Ordering::Release);
    }
}

impl Store {
    /// Counts the pages that a query has read from the database, and reads the others of their
    /// block in the background when there were many.
    pub(super) async fn read_ahead(
        &self,
        snapshot: &IndexSnapshot,
        pages: &QueryPages,
    ) -> Option<JoinHandle<()>> {
        let read_bytes = pages.read_bytes();
        for block in &snapshot.blocks {
            let read = pages.read_of(block.id);
            if read == 0 || !self.page_reads().add(block, read).await {
                continue;
            }
            let count = block.documents.directory.pages();
            let bytes = (read_bytes / pages.read()).saturating_mul(count) as u64;
            let cache = &self.page_cache().0;
            // What it weighs is known only then.
            cache.run_pending_tasks().await;
            if cache.weighted_size().saturating_add(bytes) > PAGE_CACHE_BYTES
                || self.page_reads().is_reading.swap(true, Ordering::Acquire)
            {
                continue;
            }
            let (reading, id) = (Reading(self.clone()), block.id);
            return Some(tokio::spawn(async move {
                // Queries read what they need by themselves.
                let _ = reading.0.read_block_pages(id, count).await;
            }));
        }
        None
    }

    async fn read_block_pages(&self, block: i64, count: usize) -> Result<()> {
        let cache = &self.page_cache().0;
        for first in (0..count).step_by(READ_AHEAD_PAGES) {
            let sql = Sql::new("SELECT key, content FROM skill_pages WHERE key >= $1 AND key < $2");
            let end = count.min(first + READ_AHEAD_PAGES);
            let sql = sql.bind(page_key(block, first)).bind(page_key(block, end));
            for row in self.db().fetch_all(sql).await? {
                let key = row.int("key")?;
                if !cache.contains_key(&key) {
                    let content = row.optional_bytes("content")?.unwrap_or_default();
                    cache
                        .insert(key, Arc::new(IndexedPage::new(content)?))
                        .await;
                }
            }
        }
        Ok(())
    }
}
