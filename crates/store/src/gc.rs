//! Collects unreferenced content and expired records.
//!
//! See [`blob`](crate::blob) for why this never removes content in use, whatever runs at
//! the same time.

use futures_util::future::BoxFuture;
use std::time::Duration;

use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::quota;
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Rows per query.
const BATCH_ROWS: i64 = 500;
/// How long a request key is stored.
const REQUEST_KEY_RETENTION: Duration = Duration::from_secs(24 * 3600);
/// How long the record of an unused container is stored. No sandbox stores its files
/// longer.
const CONTAINER_RETENTION: Duration = Duration::from_secs(60 * 24 * 3600);
/// How long the record of a run is stored.
const RUN_RETENTION: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long the tenant of a provider's file is recorded: the maximum lifetime of an
/// expiring file at Anthropic.
const PROVIDER_FILE_RETENTION: Duration = Duration::from_secs(90 * 24 * 3600);
/// How long usage is stored: more than a year, so that years can be compared.
const USAGE_RETENTION: Duration = Duration::from_secs(400 * 24 * 3600);

/// What was collected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GarbageReport {
    /// Blobs, in the database and in the storage.
    pub blobs: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Expired files.
    pub files: u64,
}

impl Store {
    /// Removes what has not been referenced or touched for the grace period. It may run
    /// at any time and in several processes concurrently. The grace period is for readers
    /// of content that has just been deleted.
    pub fn collect_garbage(&self, grace: Duration) -> BoxFuture<'_, Result<GarbageReport>> {
        Box::pin(async move {
            let now = Timestamp::now();
            let before = now.before(grace);
            let mut collected = GarbageReport {
                files: self.drop_expired_files(before).await?,
                ..GarbageReport::default()
            };
            let sql = Sql::new("DELETE FROM requests WHERE created_at < $1");
            self.db()
                .execute(sql.bind(now.before(REQUEST_KEY_RETENTION)))
                .await?;
            self.drop_old_runs(now).await?;
            self.drop_ended_journal_runs(now).await?;
            self.drop_idle_container_files(now).await?;
            self.drop_old_batches(now).await?;
            self.drop_old_provider_files(now.before(PROVIDER_FILE_RETENTION))
                .await?;
            // Whole days: costs of skills are merged by days, and belong to the usage of the same.
            let oldest_day = now.before(USAGE_RETENTION).day_start();
            self.drop_old_usage(oldest_day).await?;
            self.drop_old_skill_costs(oldest_day).await?;
            self.merge_skill_costs(now).await?;
            self.drop_old_responses(now).await?;
            self.drop_old_conversations(now).await?;
            self.drop_old_chats(now).await?;
            self.drop_unused_blocks().await?;
            self.drop_unused_vectors(before).await?;
            self.drop_old_audit_events(now).await?;
            self.drop_expired_console_sessions(now).await?;
            let mut after = String::new();
            loop {
                let batch = self.find_unreferenced(before, &after).await?;
                let Some(last) = batch.last() else {
                    break;
                };
                after = last.place.clone();
                for blob in &batch {
                    if self.collect_blob(blob).await? {
                        collected.blobs += 1;
                        collected.bytes += u64::try_from(blob.size).unwrap_or_default();
                    }
                }
            }
            Ok(collected)
        })
    }

    /// Expired records of runs, containers and hidden turns.
    async fn drop_old_runs(&self, now: Timestamp) -> Result<()> {
        let sql = Sql::new("DELETE FROM hidden_turns WHERE expires_at < $1");
        self.db().execute(sql.bind(now)).await?;
        // A cluster's container may be used without any change of its record.
        let sql = Sql::new(
            "DELETE FROM sessions WHERE used_at < $1
               AND NOT EXISTS (SELECT 1 FROM cluster_containers c
                               WHERE c.id = sessions.id AND c.used_at >= $1)",
        );
        self.db()
            .execute(sql.bind(now.before(CONTAINER_RETENTION)))
            .await?;
        let sql = Sql::new("DELETE FROM runs WHERE started_at < $1");
        self.db()
            .execute(sql.bind(now.before(RUN_RETENTION)))
            .await
            .map(drop)
    }

    /// Tenant by tenant: each transaction changes the totals of one tenant only.
    async fn drop_expired_files(&self, before: Timestamp) -> Result<u64> {
        let sql = Sql::new("SELECT DISTINCT tenant FROM files WHERE expires_at < $1");
        let mut dropped = 0;
        for row in self.db().fetch_all(sql.bind(before)).await? {
            let tenant = TenantId::new(row.text("tenant")?)?;
            let mut tx = self.db().begin().await?;
            quota::lock_totals(&mut tx, &tenant).await?;
            let sql = Sql::new("DELETE FROM files WHERE tenant = $1 AND expires_at < $2");
            dropped += tx.execute(sql.bind(tenant.as_str()).bind(before)).await?;
            tx.commit().await?;
        }
        Ok(dropped)
    }

    async fn find_unreferenced(
        &self,
        before: Timestamp,
        after: &str,
    ) -> Result<Vec<GarbageCandidate>> {
        let rows = self.db().fetch_all(select_unreferenced(before, after));
        let rows = rows.await?;
        let read = |row: &crate::db::DbRow| {
            Ok(GarbageCandidate {
                place: row.text("place")?,
                size: row.int("size")?,
                touched_at: row.int("touched_at")?,
                inline: row.flag("inline")?,
            })
        };
        rows.iter().map(read).collect()
    }

    /// Removes one blob, unless it has been touched since it was found. The object is
    /// deleted only after its row is doomed, and the row only after the object.
    async fn collect_blob(&self, blob: &GarbageCandidate) -> Result<bool> {
        if blob.inline {
            let sql = Sql::new("DELETE FROM blobs").push(STILL_UNREFERENCED);
            return Ok(self.db().execute(blob.bind_to(sql)).await? == 1);
        }
        let sql = Sql::new("UPDATE blobs SET state = 'doomed'").push(STILL_UNREFERENCED);
        if self.db().execute(blob.bind_to(sql)).await? == 0 {
            return Ok(false);
        }
        self.blobs().delete_object(&blob.place).await?;
        let sql = Sql::new("DELETE FROM blobs WHERE place = $1 AND state = 'doomed'");
        Ok(self.db().execute(sql.bind(&blob.place)).await? == 1)
    }
}

/// Blobs that nothing references and that were not touched since, by place.
pub(crate) fn select_unreferenced(before: Timestamp, after: &str) -> Sql {
    let sql = Sql::new(
        "SELECT place, size, touched_at,
                CAST(CASE WHEN data IS NULL THEN 0 ELSE 1 END AS BIGINT) AS inline
         FROM blobs b
         WHERE touched_at <= $1 AND place > $2
           AND (state <> 'ready'
                OR (NOT EXISTS (SELECT 1 FROM version_blobs v WHERE v.digest = b.digest)
                    AND NOT EXISTS (SELECT 1 FROM files f WHERE f.digest = b.digest)
                    AND NOT EXISTS (SELECT 1 FROM container_files c
                                    WHERE c.digest = b.digest)
                    AND NOT EXISTS (SELECT 1 FROM container_skill_files k
                                    WHERE k.digest = b.digest)))
         ORDER BY place LIMIT $3",
    );
    sql.bind(before).bind(after).bind(BATCH_ROWS)
}

/// A blob that was found unreferenced.
struct GarbageCandidate {
    place: String,
    size: i64,
    touched_at: i64,
    inline: bool,
}

impl GarbageCandidate {
    fn bind_to(&self, sql: Sql) -> Sql {
        sql.bind(&self.place).bind(self.touched_at)
    }
}

const STILL_UNREFERENCED: &str = "
    WHERE place = $1 AND touched_at = $2
      AND (state <> 'ready'
           OR (NOT EXISTS (SELECT 1 FROM version_blobs v WHERE v.digest = blobs.digest)
               AND NOT EXISTS (SELECT 1 FROM files f WHERE f.digest = blobs.digest)
               AND NOT EXISTS (SELECT 1 FROM container_files c
                               WHERE c.digest = blobs.digest)
               AND NOT EXISTS (SELECT 1 FROM container_skill_files k
                               WHERE k.digest = blobs.digest)))";

#[cfg(test)]
#[path = "gc_tests.rs"]
mod tests;
