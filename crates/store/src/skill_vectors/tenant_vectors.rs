//! The vectors of a tenant's documents, in memory: a search compares with all of them.
//!
//! They are read again when the tenant's revision has changed; vectors that were there before
//! are copied. The memory of all tenants together is bounded; a tenant that is not searched
//! any more loses its place first.

use std::collections::HashMap;
use std::sync::Arc;

use moka::future::Cache;
use moka::ops::compute::{CompResult, Op};
use prowess_ranking::{Int8Vector, SimilarDocument};

use super::QueryVector;
use crate::Store;
use crate::db::{Database, Sql};
use crate::error::{Error, Result};
use crate::skill_index::number_list;
use crate::tenant::TenantId;

/// Memory for the vectors of all tenants.
const CACHE_BYTES: u64 = 256 << 20;
/// Memory for the vectors of one tenant. The newest documents have their vectors there, and
/// older ones are found by their words alone.
const MAX_TENANT_BYTES: usize = 128 << 20;
/// Documents of one tenant that are compared.
const MAX_DOCUMENTS: i64 = 100_000;
/// Vectors that are read by one statement.
const BATCH_VECTORS: usize = 256;

/// The vectors of tenants, by tenant and model.
pub(crate) struct VectorCache(Cache<(String, String), Arc<TenantVectors>>);

impl Default for VectorCache {
    fn default() -> Self {
        let cache = Cache::builder()
            .max_capacity(CACHE_BYTES)
            .weigher(|_, vectors: &Arc<TenantVectors>| {
                u32::try_from(vectors.memory()).unwrap_or(u32::MAX)
            })
            .build();
        VectorCache(cache)
    }
}

/// The vectors of a tenant's documents.
#[derive(Debug, Default)]
pub(crate) struct TenantVectors {
    revision: i64,
    /// By number.
    documents: Vec<DocumentVector>,
    /// The parts of all vectors, one after the other.
    parts: Vec<i8>,
}

#[derive(Debug, Clone, Copy)]
struct DocumentVector {
    number: i64,
    vector: i64,
    scale: f32,
    /// Where its parts begin, and how many there are.
    start: usize,
    len: usize,
}

impl TenantVectors {
    pub(crate) fn memory(&self) -> usize {
        self.documents.len() * size_of::<DocumentVector>() + self.parts.len() + 256
    }

    /// How similar the document with a number is to a query; `None` if it has no vector.
    pub(crate) fn similarity(&self, query: &Int8Vector, number: i64) -> Option<f32> {
        let at = self
            .documents
            .binary_search_by_key(&number, |document| document.number);
        let document = self.documents.get(at.ok()?)?;
        query.similarity(document.scale, self.parts_of(document)?)
    }

    /// The similarities of documents at some places, with these numbers.
    pub(crate) fn similarities(
        &self,
        query: &Int8Vector,
        numbers: impl Iterator<Item = (u32, i64)>,
    ) -> Vec<SimilarDocument> {
        let similar = numbers.filter_map(|(document, number)| {
            let similarity = self.similarity(query, number)?;
            Some(SimilarDocument {
                document,
                similarity,
            })
        });
        similar.collect()
    }

    fn parts_of(&self, document: &DocumentVector) -> Option<&[i8]> {
        self.parts
            .get(document.start..document.start + document.len)
    }

    fn add(&mut self, number: i64, vector: i64, scale: f32, parts: &[i8]) {
        self.documents.push(DocumentVector {
            number,
            vector,
            scale,
            start: self.parts.len(),
            len: parts.len(),
        });
        self.parts.extend_from_slice(parts);
    }
}

impl Store {
    /// The vectors of a tenant's documents, if they are there in time. They are read to the
    /// end in any case: the next search finds them in memory.
    pub(crate) async fn tenant_vectors(
        &self,
        tenant: &TenantId,
        query: &QueryVector,
    ) -> Option<Arc<TenantVectors>> {
        let (store, tenant, model) = (self.clone(), tenant.clone(), query.model.clone());
        let task = tokio::spawn(async move { store.current_vectors(&tenant, &model).await });
        match tokio::time::timeout(query.wait, task).await {
            Ok(Ok(Ok(vectors))) => Some(vectors),
            // A search does not fail for want of vectors.
            _ => None,
        }
    }

    async fn current_vectors(&self, tenant: &TenantId, model: &str) -> Result<Arc<TenantVectors>> {
        let sql = Sql::new("SELECT vector_revision FROM skill_index WHERE tenant = $1");
        let row = self.db().fetch_optional(sql.bind(tenant.as_str())).await?;
        let revision = row.map_or(Ok(0), |row| row.int("vector_revision"))?;
        let cache = &self.vector_cache().0;
        let key = (tenant.as_str().to_owned(), model.to_owned());
        if let Some(known) = cache.get(&key).await
            && known.revision == revision
        {
            return Ok(known);
        }
        // Searches that come at the same time read them once.
        let entry = cache.entry(key);
        let computed = entry.and_try_compute_with(|known| async move {
            let known = known.map(|entry| entry.into_value());
            if known
                .as_ref()
                .is_some_and(|known| known.revision == revision)
            {
                return Ok::<_, Error>(Op::Nop);
            }
            let known = known.unwrap_or_default();
            let vectors = self.read_vectors(tenant, model, revision, &known).await?;
            Ok(Op::Put(Arc::new(vectors)))
        });
        Ok(match computed.await? {
            CompResult::Inserted(entry)
            | CompResult::ReplacedWith(entry)
            | CompResult::Unchanged(entry)
            | CompResult::Removed(entry) => entry.into_value(),
            CompResult::StillNone(_) => Arc::default(),
        })
    }

    async fn read_vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        revision: i64,
        known: &TenantVectors,
    ) -> Result<TenantVectors> {
        let sql = Sql::new(
            "SELECT number, vector FROM skill_documents WHERE tenant = $1 AND vector > 0
             ORDER BY number DESC LIMIT $2",
        );
        let sql = sql.bind(tenant.as_str()).bind(MAX_DOCUMENTS);
        let rows = self.db().fetch_all(sql).await?;
        let numbers = rows
            .iter()
            .map(|row| Ok((row.int("number")?, row.int("vector")?)));
        let numbers = numbers.collect::<Result<Vec<_>>>()?;
        let by_vector = known.documents.iter().map(|known| (known.vector, known));
        let by_vector: HashMap<_, _> = by_vector.collect();
        let mut read = TenantVectors {
            revision,
            ..TenantVectors::default()
        };
        for batch in numbers.chunks(BATCH_VECTORS) {
            if read.memory() > MAX_TENANT_BYTES {
                break;
            }
            let ids = batch.iter().map(|(_, vector)| *vector);
            let missing = ids.filter(|id| !by_vector.contains_key(id)).collect();
            let new = self.vectors_by_id(model, missing).await?;
            for (number, vector) in batch {
                if let Some(known_vector) = by_vector.get(vector) {
                    let parts = known.parts_of(known_vector).unwrap_or_default();
                    read.add(*number, *vector, known_vector.scale, parts);
                } else if let Some(new) = new.get(vector) {
                    read.add(*number, *vector, new.scale(), new.parts());
                }
            }
        }
        read.documents
            .sort_unstable_by_key(|document| document.number);
        Ok(read)
    }

    async fn vectors_by_id(&self, model: &str, ids: Vec<i64>) -> Result<HashMap<i64, Int8Vector>> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let database = self.db().database();
        let sql = select_vectors(database, model, number_list(database, ids.into_iter()));
        let mut vectors = HashMap::new();
        for row in self.db().fetch_all(sql).await? {
            let content = row.optional_bytes("content")?.unwrap_or_default();
            if let Some(vector) = Int8Vector::decode(&content) {
                vectors.insert(row.int("id")?, vector);
            }
        }
        Ok(vectors)
    }
}

/// One value for all ids, so that the statement is prepared once.
fn select_vectors(database: Database, model: &str, ids: String) -> Sql {
    match database {
        Database::Sqlite => Sql::new(
            "SELECT id, content FROM skill_vectors
             WHERE model = $1 AND id IN (SELECT value FROM json_each($2))",
        ),
        Database::Postgres => Sql::new(
            "SELECT id, content FROM skill_vectors WHERE model = $1 AND id = ANY($2::bigint[])",
        ),
    }
    .bind(model)
    .bind(ids)
}
