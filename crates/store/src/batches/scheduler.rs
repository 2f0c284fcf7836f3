//! Which server schedules batches: one at a time, so that the limit of concurrent requests
//! holds over all servers.

use std::time::Duration;

use crate::Store;
use crate::db::Sql;
use crate::error::Result;

impl Store {
    /// Whether any batch has not ended.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn has_open_batches(&self) -> Result<bool> {
        let sql = Sql::new("SELECT id FROM batches WHERE ended_at IS NULL LIMIT 1");
        Ok(self.db().fetch_optional(sql).await?.is_some())
    }

    /// Makes this server the one that schedules batches for some time, or extends the time.
    /// Returns false while another one does.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn lease_batch_scheduler(&self, owner: &str, time: Duration) -> Result<bool> {
        let micros = i64::try_from(time.as_micros()).unwrap_or(i64::MAX / 4);
        let mut tx = self.db().begin().await?;
        let clock = tx.database().clock();
        let sql = Sql::new("UPDATE batch_scheduler SET owner = ")
            .push_bind("", owner)
            .push(", lease_until = ")
            .push(clock)
            .push_bind(" + ", micros)
            .push_bind(" WHERE id = 1 AND (owner = ", owner)
            .push(" OR lease_until <= ")
            .push(clock)
            .push(")");
        let held = tx.execute(sql).await? == 1;
        tx.commit().await?;
        Ok(held)
    }

    /// Lets another server schedule batches at once.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn release_batch_scheduler(&self, owner: &str) -> Result<()> {
        let sql = Sql::new("UPDATE batch_scheduler SET lease_until = 0 WHERE owner = ");
        self.db().execute(sql.push_bind("", owner)).await.map(drop)
    }
}
