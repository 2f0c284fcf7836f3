//! Which version is the latest one, after one of them was deleted, revoked or restored. Searches
//! see the latest version, unless it is revoked: then no version of the skill can be used.

use super::SkillRecord;
use super::record::Revocation;
use crate::db::{Sql, Tx};
use crate::error::Result;
use crate::skill_index::{IndexChange, add_document, remove_document, row_terms};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Makes the newest version that is not revoked the latest, or the newest of all if every one
/// is. A default version that does not exist any more is replaced by it. `before` is the skill
/// before the change.
pub(super) async fn update_latest(
    tx: &mut Tx,
    tenant: &TenantId,
    before: &SkillRecord,
    now: Timestamp,
) -> Result<IndexChange> {
    let sql = Sql::new(
        "SELECT id, number, name, description, frontmatter, body, revoked_at, revoked_reason
         FROM versions LEFT JOIN version_marks ON version_marks.version = versions.id",
    );
    let sql = sql.push_bind(" WHERE skill = ", &before.id).push(
        " ORDER BY CASE WHEN revoked_at IS NULL THEN 0 ELSE 1 END, number DESC
          LIMIT 1",
    );
    let latest = tx.fetch_optional(sql).await?;
    let id = latest.as_ref().map(|row| row.text("id")).transpose()?;
    let sql = Sql::new(
        "UPDATE skills
         SET latest_version = $1, updated_at = $2,
             default_version = CASE WHEN EXISTS (SELECT 1 FROM versions
                                                 WHERE versions.id = default_version)
                                    THEN default_version ELSE $1 END
         WHERE id = $3",
    );
    let sql = sql.bind(id.clone()).bind(now).bind(&before.id);
    tx.execute(sql).await?;
    let usable = match &latest {
        Some(row) if Revocation::from_row(row)?.is_none() => Some(row),
        _ => None,
    };
    let was_found = before.latest.as_ref().filter(|latest| !latest.is_revoked);
    let is_found = usable.and(id.as_deref());
    if was_found.map(|latest| latest.id.as_str()) == is_found {
        return Ok(IndexChange::default());
    }
    let removed = remove_document(tx, tenant, &before.id).await?;
    let Some(row) = usable else {
        return Ok(removed);
    };
    let added = add_document(tx, tenant, &before.id, &row_terms(row)?).await?;
    Ok(removed.and(added))
}
