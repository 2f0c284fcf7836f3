//! Notes: what people say about a version, at its upload or later.

use super::VersionRecord;
use super::VersionSelector;
use super::default_version::lock_skill;
use super::read::version_in_tx;
use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::{Error, Result};
use crate::tenant::TenantId;

/// Characters of notes.
const MAX_NOTES_CHARS: usize = 4_000;

impl Store {
    /// Sets or removes the notes of a version.
    ///
    /// # Errors
    /// When there is no such version, or the notes are too long.
    pub async fn set_version_notes(
        &self,
        tenant: &TenantId,
        skill: &str,
        selector: &VersionSelector,
        notes: Option<&str>,
    ) -> Result<VersionRecord> {
        let notes = check_notes(notes)?;
        let mut tx = self.db().begin().await?;
        lock_skill(&mut tx, tenant, skill).await?;
        let Some(before) = version_in_tx(&mut tx, tenant, skill, selector).await? else {
            tx.rollback().await;
            return Err(self.missing_version_error(tenant, skill, selector).await);
        };
        write_notes(&mut tx, &before.id, notes).await?;
        let after = VersionRecord {
            notes: notes.map(str::to_owned),
            ..before.clone()
        };
        self.audit_notes(&mut tx, tenant, &before, &after).await?;
        tx.commit().await?;
        Ok(after)
    }
}

/// The notes without what counts as none.
pub(super) fn check_notes(notes: Option<&str>) -> Result<Option<&str>> {
    let Some(notes) = notes.map(str::trim).filter(|notes| !notes.is_empty()) else {
        return Ok(None);
    };
    let has_control = notes
        .chars()
        .any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'));
    if has_control || notes.chars().count() > MAX_NOTES_CHARS {
        return Err(Error::Invalid {
            field: "notes",
            reason: format!(
                "notes are at most {MAX_NOTES_CHARS} characters, without control characters \
                 except line ends and tabs; shorten them"
            ),
        });
    }
    Ok(Some(notes))
}

/// Writes checked notes.
pub(super) async fn write_notes(tx: &mut Tx, version: &str, notes: Option<&str>) -> Result<()> {
    let sql = Sql::new(
        "INSERT INTO version_marks (version, notes) VALUES ($1, $2)
         ON CONFLICT (version) DO UPDATE SET notes = excluded.notes",
    );
    tx.execute(sql.bind(version).bind(notes)).await.map(drop)
}
