//! Adding and removing a document, in the transaction that changes its skill. The caller has
//! locked the tenant's totals, so no other transaction changes the tenant's index.

use prowess_ranking::SkillTerms;

use super::block::decode_numbers;
use super::dead::DeadSet;
use super::limits::{MAX_RECENT_BYTES, MAX_RECENT_DOCUMENTS};
use super::seal::seal_recent;
use crate::db::{Sql, Tx};
use crate::error::Result;
use crate::tenant::TenantId;

/// Whether the blocks of a tenant changed so that some may have to be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
pub(crate) struct IndexChange {
    pub(crate) merge: bool,
}

impl IndexChange {
    pub(crate) fn and(self, other: IndexChange) -> IndexChange {
        IndexChange {
            merge: self.merge || other.merge,
        }
    }
}

/// Adds a document for a skill that has none.
pub(crate) async fn add_document(
    tx: &mut Tx,
    tenant: &TenantId,
    skill: &str,
    terms: &SkillTerms,
) -> Result<IndexChange> {
    let terms = terms.encode();
    let bytes = i64::try_from(terms.len()).unwrap_or(i64::MAX);
    let sql = Sql::new(
        "INSERT INTO skill_index (tenant, last_number, recent, recent_bytes)
         VALUES ($1, 1, 1, $2)
         ON CONFLICT (tenant) DO UPDATE
         SET last_number = skill_index.last_number + 1, recent = skill_index.recent + 1,
             recent_bytes = skill_index.recent_bytes + excluded.recent_bytes
         RETURNING last_number, recent, recent_bytes",
    );
    let sql = sql.bind(tenant.as_str()).bind(bytes);
    let row = tenant.map_unknown_tenant(tx.fetch_all(sql).await)?;
    let (mut number, mut is_full) = (0, false);
    if let Some(row) = row.first() {
        number = row.int("last_number")?;
        is_full = row.int("recent")? >= MAX_RECENT_DOCUMENTS
            || row.int("recent_bytes")? >= MAX_RECENT_BYTES;
    }
    let sql = Sql::new(
        "INSERT INTO skill_documents (skill, tenant, number, terms) VALUES ($1, $2, $3, $4)",
    );
    let sql = sql.bind(skill).bind(tenant.as_str()).bind(number);
    tx.execute(sql.bind(terms)).await?;
    Ok(IndexChange {
        merge: is_full && seal_recent(tx, tenant).await?,
    })
}

/// Removes the document of a skill, if it has one.
pub(crate) async fn remove_document(
    tx: &mut Tx,
    tenant: &TenantId,
    skill: &str,
) -> Result<IndexChange> {
    let sql = Sql::new(
        "DELETE FROM skill_documents WHERE skill = $1 AND tenant = $2
         RETURNING number, CAST(CASE WHEN terms IS NULL THEN 1 ELSE 0 END AS BIGINT) AS sealed",
    );
    let row = tx
        .fetch_optional(sql.bind(skill).bind(tenant.as_str()))
        .await?;
    match row {
        Some(row) if row.flag("sealed")? => mark_dead(tx, tenant, row.int("number")?).await,
        _ => Ok(IndexChange::default()),
    }
}

async fn mark_dead(tx: &mut Tx, tenant: &TenantId, number: i64) -> Result<IndexChange> {
    let sql = Sql::new(
        "SELECT id, documents, dead, numbers FROM skill_blocks
         WHERE tenant = $1 AND state = 'live' AND first_number <= $2 AND last_number >= $2",
    );
    let row = tx
        .fetch_optional(sql.bind(tenant.as_str()).bind(number))
        .await?;
    let Some(row) = row else {
        return Ok(IndexChange::default());
    };
    let numbers = decode_numbers(&row.optional_bytes("numbers")?.unwrap_or_default())?;
    let Ok(place) = numbers.binary_search(&number) else {
        return Ok(IndexChange::default());
    };
    let mut dead = DeadSet::from_bytes(row.optional_bytes("dead")?.unwrap_or_default());
    dead.insert(u32::try_from(place).unwrap_or(u32::MAX));
    let merge = 2 * dead.len() > numbers.len() as u64;
    let sql = Sql::new("UPDATE skill_blocks SET dead = $1 WHERE id = $2");
    let sql = sql.bind(dead.into_bytes()).bind(row.int("id")?);
    tx.execute(sql).await?;
    Ok(IndexChange { merge })
}
