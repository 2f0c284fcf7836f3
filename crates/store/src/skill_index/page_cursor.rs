//! Reads the entries of a block in order of terms, a few pages at a time.

use std::collections::VecDeque;

use super::block_rows::page_key;
use super::page::{PageEntry, read_entry};
use super::posting::malformed_page;
use crate::Store;
use crate::db::Sql;
use crate::error::Result;

/// Pages that are read by one statement.
const READ_PAGES: i64 = 32;

/// An entry with its own memory.
#[derive(Debug)]
pub(super) struct OwnedEntry {
    pub(super) term: Vec<u8>,
    pub(super) list: Vec<u8>,
}

/// A position in the entries of a block.
pub(super) struct BlockCursor<'a> {
    store: &'a Store,
    /// The next page to read, and the end.
    next_key: i64,
    end_key: i64,
    /// Pages that were read, the first one from `position`.
    pages: VecDeque<Vec<u8>>,
    position: usize,
    current: Option<OwnedEntry>,
}

impl<'a> BlockCursor<'a> {
    /// At the first entry of a block with so many pages.
    pub(super) async fn open(store: &'a Store, block: i64, pages: usize) -> Result<Self> {
        let mut cursor = BlockCursor {
            store,
            next_key: page_key(block, 0),
            end_key: page_key(block, pages),
            pages: VecDeque::new(),
            position: 0,
            current: None,
        };
        cursor.advance().await?;
        Ok(cursor)
    }

    /// The current entry; `None` at the end.
    pub(super) fn current(&self) -> Option<&OwnedEntry> {
        self.current.as_ref()
    }

    /// Goes to the next entry.
    pub(super) async fn advance(&mut self) -> Result<()> {
        loop {
            let Some(page) = self.pages.front() else {
                if self.next_key >= self.end_key {
                    self.current = None;
                    return Ok(());
                }
                self.read_pages().await?;
                continue;
            };
            let mut rest = page.get(self.position..).unwrap_or_default();
            if let Some(PageEntry { term, list, .. }) = read_entry(&mut rest)? {
                self.position = page.len() - rest.len();
                self.current = Some(OwnedEntry {
                    term: term.to_owned(),
                    list: list.to_owned(),
                });
                return Ok(());
            }
            self.pages.pop_front();
            self.position = 0;
        }
    }

    async fn read_pages(&mut self) -> Result<()> {
        let end = self.end_key.min(self.next_key + READ_PAGES);
        let sql =
            Sql::new("SELECT content FROM skill_pages WHERE key >= $1 AND key < $2 ORDER BY key");
        let rows = self
            .store
            .db()
            .fetch_all(sql.bind(self.next_key).bind(end))
            .await?;
        if rows.len() as i64 != end - self.next_key {
            // The block was merged by another server, and then removed.
            return Err(malformed_page());
        }
        for row in rows {
            self.pages
                .push_back(row.optional_bytes("content")?.unwrap_or_default());
        }
        self.next_key = end;
        Ok(())
    }
}
