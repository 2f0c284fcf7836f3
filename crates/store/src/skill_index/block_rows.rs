//! Blocks in the database: their states, inserting and cleaning up.

use super::block::BlockDocuments;
use super::dead::DeadSet;
use super::limits::{BLOCK_BITS, MERGE_TIMEOUT, PAGE_BITS, PAGE_ROWS, RETIRED_FOR};
use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::{Error, Result};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// The state of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockState {
    /// Its pages are being written; no query reads it.
    Building,
    Live,
    /// It was merged; only queries that began before read it.
    Retired,
}

impl BlockState {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            BlockState::Building => "building",
            BlockState::Live => "live",
            BlockState::Retired => "retired",
        }
    }
}

/// A new block's id: random, so that none is used twice, even if the database is restored
/// while another server has cached blocks.
pub(super) fn new_block_id() -> Result<i64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| Error::NoRandomness(error.to_string()))?;
    Ok((u64::from_le_bytes(bytes) >> (64 - BLOCK_BITS)).cast_signed())
}

/// The key of a block's page.
pub(super) fn page_key(block: i64, page: usize) -> i64 {
    let page = i64::try_from(page).unwrap_or(i64::MAX);
    (block << PAGE_BITS).saturating_add(page)
}

/// A block to be inserted.
pub(super) struct NewBlock<'a> {
    pub(super) id: i64,
    pub(super) tenant: &'a TenantId,
    pub(super) state: BlockState,
    pub(super) documents: &'a BlockDocuments,
    pub(super) dead: DeadSet,
}

impl NewBlock<'_> {
    pub(super) async fn insert(self, tx: &mut Tx) -> Result<()> {
        let numbers = &self.documents.numbers;
        let row = vec![
            self.id.into(),
            self.tenant.as_str().into(),
            self.state.as_str().into(),
            numbers.first().copied().unwrap_or_default().into(),
            numbers.last().copied().unwrap_or_default().into(),
            Timestamp::now().into(),
            i64::try_from(numbers.len()).unwrap_or(i64::MAX).into(),
            self.dead.into_bytes().into(),
            self.documents.encode_numbers().into(),
            self.documents.encode_lengths().into(),
            self.documents.encode_directory().into(),
        ];
        let sql = Sql::new(
            "INSERT INTO skill_blocks (id, tenant, state, first_number, last_number, changed_at,
                 documents, dead, numbers, lengths, directory) VALUES ",
        );
        tx.execute(sql.push_rows([row])).await.map(drop)
    }
}

/// Inserts pages of a block; the first has the number `from`.
pub(super) async fn insert_pages(
    tx: &mut Tx,
    block: i64,
    from: usize,
    pages: Vec<Vec<u8>>,
) -> Result<()> {
    let mut rows = pages
        .into_iter()
        .enumerate()
        .map(|(at, page)| vec![page_key(block, from + at).into(), page.into()])
        .peekable();
    while rows.peek().is_some() {
        let sql = Sql::new("INSERT INTO skill_pages (key, content) VALUES ");
        tx.execute(sql.push_rows(rows.by_ref().take(PAGE_ROWS)))
            .await?;
    }
    Ok(())
}

/// Changes the state of a block.
pub(super) async fn set_state(tx: &mut Tx, block: i64, state: BlockState) -> Result<()> {
    let sql = Sql::new("UPDATE skill_blocks SET state = $1, changed_at = $2 WHERE id = $3");
    let sql = sql.bind(state.as_str()).bind(Timestamp::now());
    tx.execute(sql.bind(block)).await.map(drop)
}

impl Store {
    /// Removes the blocks that no query reads any more, and what merges that did not end have
    /// left, of all tenants.
    pub(crate) async fn drop_unused_blocks(&self) -> Result<()> {
        for row in self.db().fetch_all(select_unused(Timestamp::now())).await? {
            self.drop_block(row.int("id")?).await?;
        }
        Ok(())
    }

    /// Removes a block that is not live, a few pages at a time: other writers wait for each
    /// transaction.
    pub(super) async fn drop_block(&self, id: i64) -> Result<()> {
        // A merge that has not ended cannot make it live after this.
        let sql = Sql::new("UPDATE skill_blocks SET state = 'retired' WHERE id = $1");
        let sql = sql.push(" AND state <> 'live'");
        if self.db().execute(sql.bind(id)).await? == 0 {
            return Ok(());
        }
        loop {
            let sql = Sql::new(
                "DELETE FROM skill_pages WHERE key IN
                     (SELECT key FROM skill_pages WHERE key >= $1 AND key < $2
                      ORDER BY key LIMIT 256)",
            );
            let sql = sql.bind(page_key(id, 0)).bind(page_key(id + 1, 0));
            if self.db().execute(sql).await? == 0 {
                break;
            }
        }
        let sql = Sql::new("DELETE FROM skill_blocks WHERE id = $1 AND state <> 'live'");
        self.db().execute(sql.bind(id)).await.map(drop)
    }
}

fn select_unused(now: Timestamp) -> Sql {
    let sql = Sql::new(
        "SELECT id FROM skill_blocks
         WHERE state <> 'live' AND changed_at < $1 AND (state = 'retired' OR changed_at < $2)",
    );
    let sql = sql.bind(now.before(RETIRED_FOR));
    sql.bind(now.before(MERGE_TIMEOUT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::query_plan::assert_no_table_is_scanned;

    #[test]
    fn unused_blocks_are_found_without_reading_the_others() {
        assert_no_table_is_scanned([select_unused(Timestamp::now())]);
    }
}
