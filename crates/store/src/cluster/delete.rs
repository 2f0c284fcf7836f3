//! Deletes containers.

use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::Result;
use crate::journal::delete_files;
use crate::quota::lock_totals;
use crate::tenant::TenantId;

use super::rows;

impl Store {
    /// Deletes a container of the tenant with its files, whoever holds it: the changes of a
    /// command that runs in it cannot be committed. Its record stays, and is found by
    /// [`Store::container`]. Returns false if there is no such container.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn delete_cluster_container(&self, tenant: &TenantId, id: &str) -> Result<bool> {
        let mut tx = self.db().begin().await?;
        // Always before other rows: see `quota`.
        lock_totals(&mut tx, tenant).await?;
        if rows::lock(&mut tx, tenant, id).await?.is_none() {
            tx.rollback().await;
            return Ok(false);
        }
        remove(&mut tx, id).await?;
        tx.commit().await?;
        Ok(true)
    }
}

/// Deletes a container, all but its record, in a transaction that has locked the totals of its
/// tenant and the rows of the container. The new generation refuses later commits.
pub(super) async fn remove(tx: &mut Tx, id: &str) -> Result<()> {
    let sql = Sql::new("UPDATE sessions SET generation = generation + 1 WHERE id = ");
    tx.execute(sql.push_bind("", id)).await?;
    delete_files(tx, id).await?;
    // With the files of its skills.
    let sql = Sql::new("DELETE FROM cluster_containers WHERE id = ").push_bind("", id);
    tx.execute(sql).await.map(drop)
}
