//! Reads what a catalogue shows of a tenant's documents before queries find them, once queries have
//! read many: a search asks the database once more for each result that is new to this server.
//!
//! A share of all memory stays free, so that one tenant's documents do not displace those of others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use moka::future::Cache;
use tokio::task::JoinHandle;

use super::routed_cache::CACHE_BYTES;
use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::tenant::TenantId;

/// Documents that queries of a tenant read one by one before others are read ahead.
const READS: usize = if cfg!(test) { 4 } else { 512 };
/// Documents that are read ahead then, in order of their numbers.
const DOCUMENTS: i64 = if cfg!(test) { 8 } else { 2_048 };
/// Documents that one statement reads.
const STATEMENT_DOCUMENTS: usize = if cfg!(test) { 3 } else { 64 };
/// The share of all memory that reading ahead may fill.
const MAX_BYTES: u64 = CACHE_BYTES / 4 * 3;
/// Tenants whose reads are counted. For others, counting begins anew.
const TENANTS: u64 = 10_000;

/// What queries of tenants have read, and what was read ahead for them.
pub(crate) struct RoutedReads {
    of_tenants: Cache<TenantId, Arc<Progress>>,
    /// Whether documents are being read: of one tenant at a time.
    is_reading: AtomicBool,
}

/// How far a tenant's documents were read ahead.
#[derive(Default)]
struct Progress {
    /// Documents that queries have read.
    reads: AtomicUsize,
    /// The last number that was read ahead.
    last: AtomicI64,
}

impl Default for RoutedReads {
    fn default() -> Self {
        RoutedReads {
            of_tenants: Cache::builder().max_capacity(TENANTS).build(),
            is_reading: AtomicBool::new(false),
        }
    }
}

/// Lets other documents be read when these were, or were not.
struct Reading(Store);

impl Drop for Reading {
    fn drop(&mut self) {
        let reads = self.0.routed_reads();
        reads.is_reading.store(false, Ordering::Release);
    }
}

impl Store {
    /// Counts documents that a query has read from the database, and reads others in the background
    /// when there were many.
    pub(super) async fn read_routed_ahead(
        &self,
        tenant: &TenantId,
        reads: usize,
    ) -> Option<JoinHandle<()>> {
        let all = &self.routed_reads().of_tenants;
        let progress = all.get_with_by_ref(tenant, async { Arc::default() }).await;
        let before = progress.reads.fetch_add(reads, Ordering::Relaxed);
        if before / READS == before.saturating_add(reads) / READS {
            return None;
        }
        // What it weighs is known only then.
        let documents = &self.routed_cache().0;
        documents.run_pending_tasks().await;
        if documents.weighted_size() > MAX_BYTES
            || self.routed_reads().is_reading.swap(true, Ordering::Acquire)
        {
            return None;
        }
        let (reading, tenant) = (Reading(self.clone()), tenant.clone());
        Some(tokio::spawn(async move {
            // Queries read what they need by themselves.
            let _ = reading.0.read_next_documents(&tenant, &progress).await;
        }))
    }

    async fn read_next_documents(&self, tenant: &TenantId, progress: &Progress) -> Result<()> {
        // After the last document, reading begins with the first one again.
        let sql = select_after(tenant, progress.last.swap(0, Ordering::Relaxed));
        let documents = &self.routed_cache().0;
        let name: Arc<str> = tenant.as_str().into();
        let mut missing = Vec::new();
        for row in self.db().fetch_all(sql).await? {
            let number = row.int("number")?;
            progress.last.store(number, Ordering::Relaxed);
            if !documents.contains_key(&(Arc::clone(&name), number)) {
                missing.push(number);
            }
        }
        // Few at a time: a long statement would slow down the queries that run meanwhile.
        for numbers in missing.chunks(STATEMENT_DOCUMENTS) {
            // Some documents are a thousand times as large as others.
            documents.run_pending_tasks().await;
            if documents.weighted_size() > MAX_BYTES {
                break;
            }
            self.read_routed(tenant, numbers).await?;
        }
        Ok(())
    }
}

/// Both databases read only the index of numbers, in its order, up to the limit.
fn select_after(tenant: &TenantId, number: i64) -> Sql {
    Sql::new(
        "SELECT number FROM skill_documents WHERE tenant = $1 AND number > $2
         ORDER BY number LIMIT $3",
    )
    .bind(tenant.as_str())
    .bind(number)
    .bind(DOCUMENTS)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::routed_cache::RoutedDocument;
    use super::*;
    use crate::Database;
    use crate::skill_index::model_tests::{Case, new_config};

    async fn twelve_skills(store: &Store) -> Case<'_> {
        let mut case = Case::new(store).await;
        for number in 0..12 {
            case.create(&[number]).await;
        }
        case
    }

    fn known(store: &Store, tenant: &TenantId) -> usize {
        let documents = &store.routed_cache().0;
        let keys = (1..=12).map(|number| (Arc::from(tenant.as_str()), number));
        keys.filter(|key| documents.contains_key(key)).count()
    }

    #[tokio::test]
    async fn documents_are_read_ahead_after_some_queries() {
        for database in [Database::Sqlite, Database::Postgres] {
            let (config, _folder) = new_config(database);
            let store = Store::open(&config).await.unwrap();
            let case = twelve_skills(&store).await;
            let expected = store.route_skills(&case.tenant, "w0", 12).await.unwrap();
            assert_eq!(expected.len(), 12);

            let other = Store::open(&config).await.unwrap();
            other.route_skills(&case.tenant, "w0", 3).await.unwrap();
            assert_eq!(known(&other, &case.tenant), 3);
            // The fourth document that a query reads; then eight of all twelve are read.
            other.route_skills(&case.tenant, "w0", 4).await.unwrap();
            let read = async {
                while known(&other, &case.tenant) < 8 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(30), read)
                .await
                .unwrap();
            let found = other.route_skills(&case.tenant, "w0", 12).await.unwrap();
            assert_eq!(found, expected);
        }
    }

    #[tokio::test]
    async fn one_tenant_is_read_ahead_at_a_time_and_only_if_there_is_room() {
        let (config, _folder) = new_config(Database::Sqlite);
        let store = Store::open(&config).await.unwrap();
        let case = twelve_skills(&store).await;
        let (cache, reads) = (&store.routed_cache().0, store.routed_reads());
        let read = || store.read_routed_ahead(&case.tenant, READS);

        reads.is_reading.store(true, Ordering::Release);
        assert!(read().await.is_none());
        reads.is_reading.store(false, Ordering::Release);

        let large = RoutedDocument {
            skill_id: String::new(),
            version_id: String::new(),
            name: String::new(),
            description: String::with_capacity(usize::try_from(MAX_BYTES).unwrap()),
            when_to_use: None,
            models_may_load: true,
        };
        let key = (Arc::from("another"), 1);
        cache.insert(key, Arc::new(large)).await;
        assert!(read().await.is_none());
        cache.invalidate_all();

        for known_then in [8, 12] {
            read().await.unwrap().await.unwrap();
            assert_eq!(known(&store, &case.tenant), known_then);
        }
    }
}
