//! The terms of recent documents that queries have read, by tenant. A document never changes, and
//! no number is given twice in a tenant.
//!
//! A query reads all terms of all recent documents. After some queries with the same documents
//! their terms are indexed, which takes as long as these have taken together: a tenant that uploads
//! before each query never has an index.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use moka::future::Cache;
use prowess_ranking::{SkillQuery, each_selected_term};

use super::limits::{READS_BEFORE_INDEX, RECENT_CACHE_BYTES};
use super::query_pages::number_list;
use super::recent_index::RecentIndex;
use super::recent_matches::{RecentMatch, RecentMatches};
use crate::Store;
use crate::db::{Database, Sql};
use crate::error::{Error, Result};
use crate::tenant::TenantId;

/// The recent documents of a tenant.
#[derive(Default)]
pub(super) struct RecentTerms {
    /// Their encoded terms, by number.
    documents: HashMap<i64, Arc<[u8]>>,
    index: Option<RecentIndex>,
    /// How many queries have read these terms without an index.
    reads: AtomicU32,
}

/// The recent documents of the tenants that search most.
pub(crate) struct RecentCache(pub(super) Cache<TenantId, Arc<RecentTerms>>);

impl Default for RecentCache {
    fn default() -> Self {
        let weigh = |_: &TenantId, recent: &Arc<RecentTerms>| {
            u32::try_from(recent.memory()).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder().max_capacity(RECENT_CACHE_BYTES);
        RecentCache(cache.weigher(weigh).build())
    }
}

/// What an entry takes beside its terms.
const ENTRY_BYTES: usize = 64;

impl RecentTerms {
    fn memory(&self) -> usize {
        let documents = self.documents.values();
        let documents: usize = documents.map(|terms| terms.len() + ENTRY_BYTES).sum();
        documents + self.index.as_ref().map_or(0, RecentIndex::memory) + ENTRY_BYTES
    }

    /// The documents with these numbers, as far as they are known.
    fn known<'a>(&'a self, numbers: &'a [i64]) -> impl Iterator<Item = (i64, &'a Arc<[u8]>)> {
        numbers
            .iter()
            .filter_map(move |number| Some((*number, self.documents.get(number)?)))
    }

    /// The index, if it is of just these documents.
    pub(super) fn index_of(&self, numbers: &[i64]) -> Option<&RecentIndex> {
        self.index
            .as_ref()
            .filter(|index| index.numbers() == numbers)
    }

    /// Reads all terms of the documents with these numbers.
    fn read(&self, numbers: &[i64], query: &SkillQuery) -> Result<RecentMatches> {
        let terms = query.terms().iter().map(|term| term.term.as_str());
        let mut terms: Vec<(&str, usize)> = terms.zip(0..).collect();
        terms.sort_unstable();
        let (mut known, mut all_lengths) = (Vec::new(), Vec::new());
        let mut found = Vec::new();
        for (place, (number, content)) in (0..).zip(self.known(numbers)) {
            let lengths = each_selected_term(content, &terms, |term, counts| {
                found.push(RecentMatch {
                    term,
                    place,
                    counts,
                });
            });
            known.push(number);
            all_lengths.push(lengths.map_err(|error| Error::MalformedRow {
                table: "skill_documents",
                reason: error.to_string(),
            })?);
        }
        Ok(RecentMatches::new(known, all_lengths, found))
    }

    /// The same documents with an index. `None` if a row is malformed: reading it gives the error.
    fn indexed(&self, numbers: &[i64]) -> Option<Self> {
        let documents = self.known(numbers);
        let index = RecentIndex::new(documents.map(|(number, terms)| (number, &**terms)));
        let kept = self.known(numbers);
        Some(RecentTerms {
            documents: kept
                .map(|(number, terms)| (number, Arc::clone(terms)))
                .collect(),
            index: Some(index.ok()?),
            reads: AtomicU32::new(0),
        })
    }
}

impl Store {
    /// Recent documents with these numbers, and the terms of the query that they have. `None` if
    /// one is not recent any more.
    pub(super) async fn recent_matches(
        &self,
        tenant: &TenantId,
        numbers: &[i64],
        query: &SkillQuery,
    ) -> Result<Option<RecentMatches>> {
        if numbers.is_empty() {
            return Ok(Some(RecentMatches::default()));
        }
        let Some(known) = self.recent_terms(tenant, numbers).await? else {
            return Ok(None);
        };
        if let Some(index) = known.index_of(numbers) {
            return Ok(Some(index.matches(query)));
        }
        let reads = known.reads.fetch_add(1, Ordering::Relaxed);
        if reads % READS_BEFORE_INDEX == READS_BEFORE_INDEX - 1 {
            self.index_recent(tenant, numbers, &known).await;
        }
        known.read(numbers, query).map(Some)
    }

    /// Indexes recent documents for the next queries.
    async fn index_recent(&self, tenant: &TenantId, numbers: &[i64], known: &Arc<RecentTerms>) {
        let (numbers, known) = (numbers.to_vec(), Arc::clone(known));
        // It takes milliseconds, for which no other request should wait.
        let indexed = tokio::task::spawn_blocking(move || known.indexed(&numbers)).await;
        if let Ok(Some(indexed)) = indexed {
            let cache = &self.recent_cache().0;
            cache.insert(tenant.clone(), Arc::new(indexed)).await;
        }
    }

    /// The terms of recent documents with these numbers. `None` if one is not recent any more.
    async fn recent_terms(
        &self,
        tenant: &TenantId,
        numbers: &[i64],
    ) -> Result<Option<Arc<RecentTerms>>> {
        let cache = &self.recent_cache().0;
        let known = cache.get(tenant).await.unwrap_or_default();
        let is_missing = |number: &&i64| !known.documents.contains_key(number);
        let missing: Vec<i64> = numbers.iter().filter(is_missing).copied().collect();
        if missing.is_empty() {
            return Ok(Some(known));
        }
        let sql = select_terms(self.database(), tenant, &missing);
        let mut documents: HashMap<i64, Arc<[u8]>> = HashMap::with_capacity(numbers.len());
        for row in self.db().fetch_all(sql).await? {
            let terms = row.optional_bytes("terms")?.unwrap_or_default();
            documents.insert(row.int("number")?, terms.into());
        }
        let is_complete = documents.len() == missing.len();
        // Those that are not recent any more are left out.
        let kept = known.known(numbers);
        documents.extend(kept.map(|(number, terms)| (number, Arc::clone(terms))));
        let read = Arc::new(RecentTerms {
            documents,
            ..RecentTerms::default()
        });
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use prowess_ranking::{SkillTerms, SkillText};

    proptest! {
        #[test]
        fn an_index_finds_what_reading_all_terms_finds(
            bodies in prop::collection::vec("[ab]{1,3}( [ab]{1,3}){0,30}", 0..6),
            query in "[abc]{1,3}( [abc]{1,3}){0,9}",
        ) {
            let encode = |body: &String| {
                SkillTerms::new(&SkillText { body, ..SkillText::default() }).encode()
            };
            let contents = bodies.iter().map(|body| Arc::from(encode(body)));
            let documents = RecentTerms {
                documents: (10..).zip(contents).collect(),
                ..RecentTerms::default()
            };
            // Not all of those that are known are recent.
            let numbers: Vec<i64> = (10..).take(bodies.len()).filter(|at| at % 5 != 3).collect();
            let query = SkillQuery::parse(&query);
            let indexed = documents.indexed(&numbers).unwrap();
            let found = indexed.index_of(&numbers).unwrap().matches(&query);
            prop_assert_eq!(found, documents.read(&numbers, &query).unwrap());
        }
    }

    #[test]
    fn documents_that_cannot_be_read_have_no_index() {
        let documents = RecentTerms {
            documents: HashMap::from([(1, Arc::from([9, 9]))]),
            ..RecentTerms::default()
        };
        assert!(documents.indexed(&[1]).is_none());
        assert!(documents.read(&[1], &SkillQuery::parse("a")).is_err());
    }
}
