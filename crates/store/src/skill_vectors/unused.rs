//! Removes vectors that no document has.

use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::time::Timestamp;

/// Vectors per statement.
const BATCH_ROWS: i64 = 500;
/// No document has it, and none was given it lately.
const UNUSED: &str = " used_at < $1 AND NOT EXISTS
    (SELECT 1 FROM skill_documents d WHERE d.vector = skill_vectors.id)";

impl Store {
    /// Removes vectors that no document has had since some time.
    pub(crate) async fn drop_unused_vectors(&self, before: Timestamp) -> Result<()> {
        loop {
            // Found without a transaction: most vectors are in use.
            let sql = Sql::new("SELECT id FROM skill_vectors WHERE").push(UNUSED);
            let sql = sql.bind(before).push_bind(" LIMIT ", BATCH_ROWS);
            let rows = self.db().fetch_all(sql).await?;
            let ids = rows.iter().map(|row| row.int("id"));
            let ids = ids.collect::<Result<Vec<_>>>()?;
            if ids.is_empty() {
                return Ok(());
            }
            let sql = Sql::new("DELETE FROM skill_vectors WHERE").push(UNUSED);
            let sql = sql.bind(before).push(" AND id IN ").push_list(ids);
            if self.db().execute(sql).await? == 0 {
                return Ok(());
            }
        }
    }
}
