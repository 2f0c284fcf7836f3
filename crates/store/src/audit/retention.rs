//! Deletes entries that are older than the retention. The triggers of the log permit it only
//! for rows before the time that is set here.

use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::id::{self, IdPrefix};
use crate::time::Timestamp;

impl Store {
    /// Deletes what is older than the retention, if the log has one.
    pub(crate) async fn drop_old_audit_events(&self, now: Timestamp) -> Result<()> {
        let Some(retention) = self.audit_retention() else {
            return Ok(());
        };
        let before = now.before(retention);
        let mut tx = self.db().begin().await?;
        // A server with a longer retention, or a slower clock, must not set it back.
        let sql = Sql::new(
            "UPDATE audit_retention SET expired_before = $1
             WHERE only_row = 1 AND expired_before < $1",
        );
        tx.execute(sql.bind(before)).await?;
        let sql = Sql::new("DELETE FROM audit_log WHERE id < $1 AND at < $2");
        let bound = id::time_bound(IdPrefix::AuditEvent, before);
        tx.execute(sql.bind(bound).bind(before)).await?;
        tx.commit().await
    }
}
