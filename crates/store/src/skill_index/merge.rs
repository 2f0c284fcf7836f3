//! Merges blocks of a tenant into one.
//!
//! Live blocks do not change, so they are read without a lock, a few pages at a time, and the
//! new block is written in short transactions. The last one makes it live, retires the old
//! ones and carries over the documents that died meanwhile. Another server may do the same:
//! the first one wins, and the other removes what it has written.

use std::ops::Range;
use std::sync::Arc;

use super::block::BlockDocuments;
use super::block_rows::{BlockState, NewBlock, insert_pages, new_block_id, page_key, set_state};
use super::dead::DeadSet;
use super::limits::PAGE_ROWS;
use super::merge_plan::{BlockSize, plan_merge, plan_quiet_merge};
use super::page::{PageDirectory, PageWriter};
use super::page_cursor::BlockCursor;
use super::posting::{PlacedCounts, PostingReader};
use crate::Store;
use crate::db::{DbRow, Sql, Tx};
use crate::error::Result;
use crate::quota;
use crate::tenant::TenantId;

/// Merges of one tenant in a row: the others wait.
const MAX_MERGES: usize = 8;

/// A block to be merged.
struct MergeInput {
    id: i64,
    /// The documents that were dead when the merge began.
    dead: DeadSet,
    documents: Arc<BlockDocuments>,
    /// For each place, the one in the new block; `None` if it is dropped.
    new_places: Vec<Option<u32>>,
}

impl Store {
    /// Merges the tenant's blocks as long as there is something to merge.
    pub(super) async fn merge_tenant(&self, tenant: &TenantId) -> Result<()> {
        self.drop_unused_blocks().await?;
        self.merge_by(tenant, plan_merge).await
    }

    /// Merges the blocks of a tenant whose index is not changing, so that fewer remain.
    pub(super) async fn merge_quiet_tenant(&self, tenant: &TenantId) -> Result<()> {
        let plan = |blocks: &[_]| plan_merge(blocks).or_else(|| plan_quiet_merge(blocks));
        self.merge_by(tenant, plan).await
    }

    async fn merge_by(
        &self,
        tenant: &TenantId,
        plan: impl Fn(&[BlockSize]) -> Option<Range<usize>>,
    ) -> Result<()> {
        for _ in 0..MAX_MERGES {
            let rows = self.db().fetch_all(select_live(tenant)).await?;
            let Some(run) = plan(&sizes(&rows)?) else {
                break;
            };
            let Some(inputs) = self.open_inputs(rows.get(run).unwrap_or_default()).await? else {
                continue;
            };
            self.merge_blocks(tenant, inputs).await?;
        }
        Ok(())
    }

    async fn open_inputs(&self, rows: &[DbRow]) -> Result<Option<Vec<MergeInput>>> {
        let ids = rows.iter().map(|row| row.int("id"));
        let ids = ids.collect::<Result<Vec<_>>>()?;
        let Some(documents) = self.block_documents(&ids).await? else {
            return Ok(None);
        };
        let mut inputs = Vec::new();
        let mut next = 0;
        for (row, documents) in rows.iter().zip(documents) {
            let dead = DeadSet::from_bytes(row.optional_bytes("dead")?.unwrap_or_default());
            let places = (0..).zip(&documents.numbers).map(|(place, _)| {
                let new_place = next;
                let is_live = !dead.contains(place);
                next += u32::from(is_live);
                is_live.then_some(new_place)
            });
            inputs.push(MergeInput {
                id: row.int("id")?,
                new_places: places.collect(),
                dead,
                documents,
            });
        }
        Ok(Some(inputs))
    }

    async fn merge_blocks(&self, tenant: &TenantId, inputs: Vec<MergeInput>) -> Result<()> {
        let documents = merged_documents(&inputs);
        let id = new_block_id()?;
        let mut tx = self.db().begin().await?;
        let new = NewBlock {
            id,
            tenant,
            state: BlockState::Building,
            documents: &documents,
            dead: DeadSet::default(),
        };
        new.insert(&mut tx).await?;
        tx.commit().await?;
        let directory = self.merge_pages(id, &inputs).await?;
        if !self.replace_blocks(tenant, id, &inputs, &directory).await? {
            return self.drop_block(id).await;
        }
        self.forget_pages(&inputs).await;
        Ok(())
    }

    /// No query needs the pages of merged blocks any more. They would take the room that the pages
    /// of the new block are read ahead into.
    async fn forget_pages(&self, inputs: &[MergeInput]) {
        let cache = &self.page_cache().0;
        for input in inputs {
            for page in 0..input.documents.directory.pages() {
                cache.invalidate(&page_key(input.id, page)).await;
            }
        }
    }

    /// Writes the pages of the new block.
    async fn merge_pages(&self, id: i64, inputs: &[MergeInput]) -> Result<PageDirectory> {
        let mut cursors = Vec::new();
        for input in inputs {
            let pages = input.documents.directory.pages();
            cursors.push((BlockCursor::open(self, input.id, pages).await?, input));
        }
        let mut writer = PageWriter::default();
        let mut written = 0;
        loop {
            let entries = cursors.iter().filter_map(|(cursor, _)| cursor.current());
            let Some(term) = entries.map(|entry| &entry.term).min().cloned() else {
                break;
            };
            writer.begin_term(&term);
            for (cursor, input) in &mut cursors {
                while let Some(entry) = cursor.current()
                    && entry.term == term
                {
                    copy_postings(&entry.list, input, &mut writer)?;
                    cursor.advance().await?;
                }
            }
            if writer.finished() >= PAGE_ROWS {
                written += self
                    .write_pages(id, written, writer.take_finished())
                    .await?;
            }
        }
        let (pages, directory) = writer.finish();
        self.write_pages(id, written, pages).await?;
        Ok(directory)
    }

    async fn write_pages(&self, id: i64, from: usize, pages: Vec<Vec<u8>>) -> Result<usize> {
        let count = pages.len();
        let mut tx = self.db().begin().await?;
        insert_pages(&mut tx, id, from, pages).await?;
        tx.commit().await?;
        Ok(count)
    }

    /// Makes the new block live instead of the old ones. Returns false if another server was
    /// first.
    async fn replace_blocks(
        &self,
        tenant: &TenantId,
        id: i64,
        inputs: &[MergeInput],
        directory: &PageDirectory,
    ) -> Result<bool> {
        let mut tx = self.db().begin().await?;
        quota::lock_totals(&mut tx, tenant).await?;
        let Some(dead) = newly_dead(&mut tx, inputs).await? else {
            tx.rollback().await;
            return Ok(false);
        };
        for input in inputs {
            set_state(&mut tx, input.id, BlockState::Retired).await?;
        }
        let directory = BlockDocuments {
            directory: directory.clone(),
            ..BlockDocuments::default()
        };
        let sql = Sql::new(
            "UPDATE skill_blocks SET directory = $1, dead = $2
             WHERE id = $3 AND state = 'building'",
        );
        let sql = sql
            .bind(directory.encode_directory())
            .bind(dead.into_bytes());
        if tx.execute(sql.bind(id)).await? == 0 {
            // It took so long that another server has removed it.
            tx.rollback().await;
            return Ok(false);
        }
        let has_documents = inputs
            .iter()
            .any(|input| input.new_places.iter().any(Option::is_some));
        let state = if has_documents {
            BlockState::Live
        } else {
            BlockState::Retired
        };
        set_state(&mut tx, id, state).await?;
        tx.commit().await?;
        Ok(true)
    }
}

fn select_live(tenant: &TenantId) -> Sql {
    let sql = Sql::new(
        "SELECT id, documents, dead FROM skill_blocks
         WHERE tenant = $1 AND state = 'live' ORDER BY first_number",
    );
    sql.bind(tenant.as_str())
}

fn sizes(rows: &[DbRow]) -> Result<Vec<BlockSize>> {
    let size = |row: &DbRow| {
        let dead = DeadSet::from_bytes(row.optional_bytes("dead")?.unwrap_or_default()).len();
        let documents = u64::try_from(row.int("documents")?).unwrap_or_default();
        Ok(BlockSize {
            live: documents.saturating_sub(dead),
            dead,
        })
    };
    rows.iter().map(size).collect()
}

/// The live documents of all inputs, without a directory.
fn merged_documents(inputs: &[MergeInput]) -> BlockDocuments {
    let mut merged = BlockDocuments::default();
    for input in inputs {
        let documents = input.documents.numbers.iter().zip(&input.documents.lengths);
        for ((number, lengths), new_place) in documents.zip(&input.new_places) {
            if new_place.is_some() {
                merged.numbers.push(*number);
                merged.lengths.push(*lengths);
            }
        }
    }
    merged
}

fn copy_postings(list: &[u8], input: &MergeInput, writer: &mut PageWriter) -> Result<()> {
    let mut reader = PostingReader::new(list);
    while let Some(posting) = reader.read()? {
        let new_place = input.new_places.get(posting.place as usize);
        if let Some(place) = new_place.copied().flatten() {
            writer.push(PlacedCounts { place, ..posting });
        }
    }
    Ok(())
}

/// The documents of the new block that died since the merge began. `None` if an old block is
/// not live any more.
async fn newly_dead(tx: &mut Tx, inputs: &[MergeInput]) -> Result<Option<DeadSet>> {
    let mut all = DeadSet::default();
    for input in inputs {
        let sql = Sql::new("SELECT dead FROM skill_blocks WHERE id = $1 AND state = 'live'");
        let Some(row) = tx.fetch_optional(sql.bind(input.id)).await? else {
            return Ok(None);
        };
        let dead = DeadSet::from_bytes(row.optional_bytes("dead")?.unwrap_or_default());
        for place in dead.places().filter(|place| !input.dead.contains(*place)) {
            let new_place = input.new_places.get(place as usize);
            if let Some(new_place) = new_place.copied().flatten() {
                all.insert(new_place);
            }
        }
    }
    Ok(Some(all))
}
