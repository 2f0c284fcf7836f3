//! The terms of recent documents that queries have read, by tenant. A document never changes, and
//! no number is given twice in a tenant.

use std::collections::HashMap;
use std::sync::Arc;

use moka::future::Cache;

use super::limits::RECENT_CACHE_BYTES;
use super::query_pages::number_list;
use crate::Store;
use crate::db::{Database, Sql};
use crate::error::Result;
use crate::tenant::TenantId;

/// The encoded terms of a tenant's recent documents, by number.
pub(super) type RecentTerms = HashMap<i64, Arc<[u8]>>;

/// The recent documents of the tenants that search most.
pub(crate) struct RecentCache(Cache<TenantId, Arc<RecentTerms>>);

impl Default for RecentCache {
    fn default() -> Self {
        let weigh = |_: &TenantId, recent: &Arc<RecentTerms>| {
            let bytes: usize = recent.values().map(|terms| terms.len() + ENTRY_BYTES).sum();
            u32::try_from(bytes + ENTRY_BYTES).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder().max_capacity(RECENT_CACHE_BYTES);
        RecentCache(cache.weigher(weigh).build())
    }
}

/// What an entry takes beside its terms.
const ENTRY_BYTES: usize = 64;

impl Store {
    /// The terms of recent documents with these numbers. `None` if one is not recent any more.
    pub(super) async fn recent_terms(
        &self,
        tenant: &TenantId,
        numbers: &[i64],
    ) -> Result<Option<Arc<RecentTerms>>> {
        let cache = &self.recent_cache().0;
        let known = cache.get(tenant).await.unwrap_or_default();
        let is_missing = |number: &&i64| !known.contains_key(number);
        let missing: Vec<i64> = numbers.iter().filter(is_missing).copied().collect();
        if missing.is_empty() {
            return Ok(Some(known));
        }
        let sql = select_terms(self.database(), tenant, &missing);
        let mut read = RecentTerms::with_capacity(numbers.len());
        for row in self.db().fetch_all(sql).await? {
            let terms = row.optional_bytes("terms")?.unwrap_or_default();
            read.insert(row.int("number")?, terms.into());
        }
        let is_complete = read.len() == missing.len();
        // Those that are not recent any more are left out.
        let kept = numbers.iter().filter_map(|number| {
            let terms = known.get(number)?;
            Some((*number, Arc::clone(terms)))
        });
        read.extend(kept);
        let read = Arc::new(read);
        // Also if one is missing: the next attempt has less to read.
        cache.insert(tenant.clone(), Arc::clone(&read)).await;
        Ok(is_complete.then_some(read))
    }
}

pub(super) fn select_terms(database: Database, tenant: &TenantId, numbers: &[i64]) -> Sql {
    match database {
        Database::Sqlite => Sql::new(
            "SELECT number, terms FROM skill_documents
             WHERE tenant = $1 AND number IN (SELECT value FROM json_each($2))
               AND terms IS NOT NULL",
        ),
        Database::Postgres => Sql::new(
            "SELECT number, terms FROM skill_documents
             WHERE tenant = $1 AND number = ANY($2::bigint[]) AND terms IS NOT NULL",
        ),
    }
    .bind(tenant.as_str())
    .bind(number_list(database, numbers.iter().copied()))
}
