//! Packs the recent documents of a tenant into a block.

use prowess_ranking::{FieldCounts, SkillTerms};

use super::block::BlockDocuments;
use super::block_rows::{BlockState, NewBlock, insert_pages, new_block_id};
use super::dead::DeadSet;
use super::limits::{MAX_RECENT_BYTES, MAX_RECENT_DOCUMENTS};
use super::page::PageWriter;
use super::posting::PlacedCounts;
use crate::db::{DbRow, Sql, Tx};
use crate::error::{Error, Result};
use crate::tenant::TenantId;

/// A document whose terms are in its row.
pub(super) struct RecentDocument {
    pub(super) number: i64,
    pub(super) terms: SkillTerms,
}

impl RecentDocument {
    pub(super) fn decode(number: i64, terms: &[u8]) -> Result<Self> {
        let terms = SkillTerms::decode(terms).map_err(|error| Error::MalformedRow {
            table: "skill_documents",
            reason: error.to_string(),
        })?;
        Ok(RecentDocument { number, terms })
    }
}

/// Makes a block of the recent documents, if there are enough. Some of those that were
/// counted may have been removed since.
pub(super) async fn seal_recent(tx: &mut Tx, tenant: &TenantId) -> Result<bool> {
    let sql = Sql::new(
        "SELECT number, terms FROM skill_documents
         WHERE tenant = $1 AND terms IS NOT NULL ORDER BY number",
    );
    let rows = tx.fetch_all(sql.bind(tenant.as_str())).await?;
    let (documents, bytes) = decode_rows(&rows)?;
    let count = i64::try_from(documents.len()).unwrap_or(i64::MAX);
    if count < MAX_RECENT_DOCUMENTS && bytes < MAX_RECENT_BYTES {
        set_recent(tx, tenant, count, bytes).await?;
        return Ok(false);
    }
    let (block, pages) = pack(&documents);
    let id = new_block_id()?;
    let new = NewBlock {
        id,
        tenant,
        state: BlockState::Live,
        documents: &block,
        dead: DeadSet::default(),
    };
    new.insert(tx).await?;
    insert_pages(tx, id, 0, pages).await?;
    let sql =
        Sql::new("UPDATE skill_documents SET terms = NULL WHERE tenant = $1 AND terms IS NOT NULL");
    tx.execute(sql.bind(tenant.as_str())).await?;
    set_recent(tx, tenant, 0, 0).await?;
    Ok(true)
}

fn decode_rows(rows: &[DbRow]) -> Result<(Vec<RecentDocument>, i64)> {
    let mut documents = Vec::with_capacity(rows.len());
    let mut bytes = 0;
    for row in rows {
        let terms = row.optional_bytes("terms")?.unwrap_or_default();
        bytes += i64::try_from(terms.len()).unwrap_or(i64::MAX);
        documents.push(RecentDocument::decode(row.int("number")?, &terms)?);
    }
    Ok((documents, bytes))
}

async fn set_recent(tx: &mut Tx, tenant: &TenantId, count: i64, bytes: i64) -> Result<()> {
    let sql = Sql::new("UPDATE skill_index SET recent = $1, recent_bytes = $2 WHERE tenant = $3");
    let sql = sql.bind(count).bind(bytes).bind(tenant.as_str());
    tx.execute(sql).await.map(drop)
}

/// The block of some documents, in order of their numbers, and its pages.
fn pack(documents: &[RecentDocument]) -> (BlockDocuments, Vec<Vec<u8>>) {
    let mut all: Vec<(&str, u32, FieldCounts)> = Vec::new();
    for (place, document) in (0..).zip(documents) {
        all.extend(
            document
                .terms
                .terms()
                .map(|(term, counts)| (term, place, counts)),
        );
    }
    all.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    let mut writer = PageWriter::default();
    let mut current = None;
    for (term, place, counts) in all {
        if current != Some(term) {
            writer.begin_term(term.as_bytes());
            current = Some(term);
        }
        writer.push(PlacedCounts { place, counts });
    }
    let (pages, directory) = writer.finish();
    let block = BlockDocuments {
        numbers: documents.iter().map(|document| document.number).collect(),
        lengths: documents
            .iter()
            .map(|document| document.terms.lengths())
            .collect(),
        directory,
        ..BlockDocuments::default()
    };
    (block, pages)
}
