//! What a query reads first: the blocks and recent documents of a tenant at one moment.

use std::collections::HashMap;
use std::sync::Arc;

use prowess_ranking::{CorpusStats, SkillQuery};

use super::block::BlockDocuments;
use super::dead::DeadSet;
use super::recent_matches::RecentMatches;
use crate::Store;
use crate::db::{Database, Sql};
use crate::error::{Error, Result};
use crate::tenant::TenantId;

/// The index of a tenant, as one query sees it.
pub(super) struct IndexSnapshot {
    /// In order of their documents' numbers.
    pub(super) blocks: Vec<LiveBlock>,
    /// Documents that are in no block.
    pub(super) recent: RecentMatches,
    /// The place of the first of these.
    pub(super) first_recent: u32,
    pub(super) stats: CorpusStats,
}

/// A block with its dead documents.
pub(super) struct LiveBlock {
    pub(super) id: i64,
    /// Its place among the blocks.
    pub(super) place: usize,
    /// The place of its first document.
    pub(super) first: u32,
    pub(super) dead: DeadSet,
    /// The places in `dead`.
    pub(super) dead_places: Vec<u32>,
    pub(super) documents: Arc<BlockDocuments>,
}

impl IndexSnapshot {
    /// The documents' places run through all blocks and recent documents.
    pub(super) fn places(&self) -> usize {
        self.first_recent as usize + self.recent.numbers.len()
    }

    /// Whether a block may have a term, by its first term.
    pub(super) fn may_have(&self, term: &str) -> bool {
        let mut blocks = self.blocks.iter();
        blocks.any(|block| block.documents.directory.may_have(term))
    }
}

impl Store {
    /// The tenant's index now. `None` if a block or a recent document was removed while it was
    /// read: then a new snapshot is needed.
    pub(super) async fn index_snapshot(
        &self,
        tenant: &TenantId,
        query: &SkillQuery,
    ) -> Result<Option<IndexSnapshot>> {
        let sql = select_snapshot(self.database(), tenant);
        let rows = self.db().fetch_all(sql).await?;
        let mut blocks = Vec::new();
        let mut numbers = Vec::new();
        for row in &rows {
            let content = row.optional_bytes("content")?.unwrap_or_default();
            let (id, number) = (row.int("id")?, row.int("number")?);
            if id < 0 {
                numbers = read_numbers(&content)?;
            } else {
                blocks.push((number, id, DeadSet::from_bytes(content)));
            }
        }
        blocks.sort_unstable_by_key(|(number, _, _)| *number);
        let Some(recent) = self.recent_matches(tenant, &numbers, query).await? else {
            return Ok(None);
        };
        let ids: Vec<_> = blocks.iter().map(|(_, id, _)| *id).collect();
        let Some(documents) = self.block_documents(&ids).await? else {
            return Ok(None);
        };
        let blocks = blocks.into_iter().zip(documents);
        let mut first_recent = 0u32;
        let blocks: Vec<_> = (0..)
            .zip(blocks)
            .map(|(place, ((_, id, dead), documents))| {
                let first = first_recent;
                let count = u32::try_from(documents.numbers.len()).unwrap_or(u32::MAX);
                first_recent = first_recent.saturating_add(count);
                LiveBlock {
                    id,
                    place,
                    first,
                    dead_places: dead.places().take_while(|place| *place < count).collect(),
                    dead,
                    documents,
                }
            })
            .collect();
        let stats = stats(&blocks, &recent);
        Ok(Some(IndexSnapshot {
            blocks,
            recent,
            first_recent,
            stats,
        }))
    }

    /// The documents of some blocks, in the given order. `None` if one was removed.
    pub(super) async fn block_documents(
        &self,
        ids: &[i64],
    ) -> Result<Option<Vec<Arc<BlockDocuments>>>> {
        let mut found: HashMap<i64, Arc<BlockDocuments>> = HashMap::new();
        let mut missing = Vec::new();
        for id in ids {
            match self.block_cache().0.get(id).await {
                Some(documents) => drop(found.insert(*id, documents)),
                None => missing.push(*id),
            }
        }
        if !missing.is_empty() {
            let rows = self.db().fetch_all(select_documents(&missing)).await?;
            for row in rows {
                let bytes =
                    |column| Ok::<_, Error>(row.optional_bytes(column)?.unwrap_or_default());
                let (numbers, lengths) = (bytes("numbers")?, bytes("lengths")?);
                let documents = BlockDocuments::decode(&numbers, &lengths, &bytes("directory")?)?;
                let (id, documents) = (row.int("id")?, Arc::new(documents));
                self.block_cache().0.insert(id, documents.clone()).await;
                found.insert(id, documents);
            }
        }
        Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
    }
}

/// Blocks, and the numbers of recent documents as one row with id -1, in one statement: what a
/// transaction moves from one to the other is seen once.
pub(super) fn select_snapshot(database: Database, tenant: &TenantId) -> Sql {
    let sql = Sql::new(
        "SELECT id, first_number AS number, dead AS content FROM skill_blocks
         WHERE tenant = $1 AND state = 'live'
         UNION ALL
         SELECT CAST(-1 AS BIGINT), CAST(0 AS BIGINT), ",
    )
    .push(match database {
        Database::Sqlite => "CAST(group_concat(number) AS BLOB)",
        Database::Postgres => "convert_to(string_agg(CAST(number AS TEXT), ','), 'UTF8')",
    })
    .push(" FROM skill_documents WHERE tenant = $1 AND terms IS NOT NULL");
    sql.bind(tenant.as_str())
}

/// The numbers of recent documents, ascending.
fn read_numbers(list: &[u8]) -> Result<Vec<i64>> {
    let malformed = || Error::MalformedRow {
        table: "skill_documents",
        reason: "its numbers are not a list".to_owned(),
    };
    let text = std::str::from_utf8(list).map_err(|_| malformed())?;
    let parts = text.split(',').filter(|part| !part.is_empty());
    let numbers = parts.map(|part| part.parse().map_err(|_| malformed()));
    let mut numbers = numbers.collect::<Result<Vec<i64>>>()?;
    numbers.sort_unstable();
    Ok(numbers)
}

pub(super) fn select_documents(ids: &[i64]) -> Sql {
    Sql::new("SELECT id, numbers, lengths, directory FROM skill_blocks WHERE id IN ")
        .push_list(ids.iter().copied())
}

fn stats(blocks: &[LiveBlock], recent: &RecentMatches) -> CorpusStats {
    let mut stats = CorpusStats::default();
    for block in blocks {
        stats.merge(block.documents.stats());
        for place in &block.dead_places {
            if let Some(lengths) = block.documents.lengths.get(*place as usize) {
                stats.remove(*lengths);
            }
        }
    }
    let recent = recent.all_lengths().iter();
    recent.for_each(|lengths| stats.add(*lengths));
    stats
}
