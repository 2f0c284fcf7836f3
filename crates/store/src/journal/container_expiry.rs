//! Deletes the stored files of containers that no run needs any more. They are stored so that
//! a run can be resumed; between runs, the sandbox has them. The next run that uses such a
//! container stores them again. Those of a cluster's containers stay: no sandbox has them.

use std::time::Duration;

use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::Result;
use crate::quota::lock_totals;
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::container_hold::is_held;

/// How long the files of a container are stored after its last use.
const CONTAINER_FILES_RETENTION: Duration = Duration::from_secs(24 * 3600);
/// Containers per query.
const BATCH_CONTAINERS: i64 = 100;

impl Store {
    /// Deletes the stored files of a container that its tenant has deleted. A run that still
    /// uses it cannot commit any changes.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn delete_container_files(&self, tenant: &TenantId, container: &str) -> Result<()> {
        let mut tx = self.db().begin().await?;
        // Always before other rows: see `quota`.
        lock_totals(&mut tx, tenant).await?;
        let sql = Sql::new("UPDATE sessions SET generation = generation + 1 WHERE tenant = ")
            .push_bind("", tenant.as_str())
            .push_bind(" AND id = ", container);
        if tx.execute(sql).await? == 1 {
            delete_files(&mut tx, container).await?;
        }
        tx.commit().await
    }

    /// Deletes the stored files of containers that were not used for long and that no run
    /// holds.
    pub(crate) async fn drop_idle_container_files(&self, now: Timestamp) -> Result<()> {
        let before = now.before(CONTAINER_FILES_RETENTION);
        let mut after = String::new();
        loop {
            let sql = Sql::new(
                "SELECT id, tenant FROM sessions s WHERE used_at < $1 AND id > $2
                   AND EXISTS (SELECT 1 FROM container_files f WHERE f.container = s.id)
                   AND NOT EXISTS (SELECT 1 FROM cluster_containers c WHERE c.id = s.id)
                 ORDER BY id LIMIT $3",
            );
            let sql = sql.bind(before).bind(&after).bind(BATCH_CONTAINERS);
            let rows = self.db().fetch_all(sql).await?;
            if rows.is_empty() {
                return Ok(());
            }
            for row in &rows {
                after = row.text("id")?;
                let tenant = TenantId::new(row.text("tenant")?)?;
                self.drop_files_unless_held(&tenant, &after).await?;
            }
        }
    }

    async fn drop_files_unless_held(&self, tenant: &TenantId, container: &str) -> Result<()> {
        let mut tx = self.db().begin().await?;
        lock_totals(&mut tx, tenant).await?;
        // Locked, so that a run either holds it before, or finds no files afterwards.
        let sql = Sql::new(
            "SELECT held_by, held_epoch FROM sessions s WHERE NOT EXISTS
                (SELECT 1 FROM cluster_containers c WHERE c.id = s.id) AND s.id = ",
        )
        .push_bind("", container)
        .for_update();
        let Some(row) = tx.fetch_optional(sql).await? else {
            tx.rollback().await;
            return Ok(());
        };
        if is_held(&mut tx, &row).await? {
            tx.rollback().await;
            return Ok(());
        }
        delete_files(&mut tx, container).await?;
        tx.commit().await
    }
}

/// Deletes the files of a container in a transaction that has locked the totals of its tenant.
pub(crate) async fn delete_files(tx: &mut Tx, container: &str) -> Result<()> {
    let sql = Sql::new("DELETE FROM container_files WHERE container = ").push_bind("", container);
    tx.execute(sql).await?;
    let sql = Sql::new(
        "UPDATE sessions SET stored_bytes = 0, files_digest = NULL
         WHERE (stored_bytes <> 0 OR files_digest IS NOT NULL) AND id = ",
    );
    tx.execute(sql.push_bind("", container)).await.map(drop)
}
