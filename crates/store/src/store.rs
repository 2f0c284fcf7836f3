//! The store: opening it, and the state shared by its operations.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use std::time::Duration;
use tokio::sync::Notify;

use crate::audit::{AuditOrigin, ChangeBudget};
use crate::blob::Blobs;
use crate::blob::storage::ObjectStorage;
use crate::cache_drops::CacheDrops;
use crate::config::{BLOB_FOLDER, DATABASE_FILE, StoreConfig};
use crate::db::{Database, Db, Sql};
use crate::disk_space::DiskSpace;
use crate::error::{Error, Result};
use crate::growth::TenantGrowth;
use crate::keys::KeyCache;
use crate::lost_database::EarlierContent;
use crate::quota::StorageLimits;
use crate::readiness::ReadinessCache;
use crate::resolve::ResolveCache;
use crate::skill_costs::PastCosts;
use crate::skill_index::{BlockCache, MergeQueue, PageCache, PageReads, RecentCache, TermCache};
use crate::skill_vectors::VectorCache;
use crate::skills::{RoutedCache, RoutedReads};
use crate::usage::PastUsage;

/// Skills, versions, files, keys and tenants. Cheap to clone; clones share
/// everything.
#[derive(Clone)]
pub struct Store(Arc<StoreInner>, Option<Arc<AuditOrigin>>);

struct StoreInner {
    db: Arc<Db>,
    blobs: Blobs,
    resolve_cache: ResolveCache,
    block_cache: BlockCache,
    page_cache: PageCache,
    page_reads: PageReads,
    recent_cache: RecentCache,
    term_cache: TermCache,
    routed_cache: RoutedCache,
    routed_reads: RoutedReads,
    past_usage: PastUsage,
    past_costs: PastCosts,
    merge_queue: MergeQueue,
    vector_cache: VectorCache,
    new_documents: Notify,
    key_cache: KeyCache,
    limits: StorageLimits,
    disk_space: Arc<DiskSpace>,
    readiness: ReadinessCache,
    response_growth: TenantGrowth,
    conversation_growth: TenantGrowth,
    chat_growth: TenantGrowth,
    turn_growth: TenantGrowth,
    change_budget: ChangeBudget,
    audit_retention: Option<Duration>,
    cache_drops: CacheDrops,
}

impl Store {
    /// Opens a store and migrates its schema. Any number of processes may do so
    /// concurrently.
    pub fn open(config: &StoreConfig) -> BoxFuture<'_, Result<Store>> {
        Box::pin(async move {
            let storage = match config.blobs.as_str() {
                // Created only after the database.
                "local" => None,
                url => Some(ObjectStorage::open_url(url, &config.blob_options)?),
            };
            let evidence = EarlierContent::new(config, storage.as_ref());
            let db = Arc::new(open_database(config, &evidence).await?);
            let storage = match storage {
                Some(storage) => storage,
                None => ObjectStorage::open_folder(&config.data_dir.join(BLOB_FOLDER))?,
            };
            let space = Arc::new(DiskSpace::new(local_folders(config), config.reserve_bytes));
            let inner = Arc::new(StoreInner {
                blobs: Blobs::new(db.clone(), storage, config.inline_bytes, Arc::clone(&space)),
                db,
                resolve_cache: ResolveCache::new(config.freshness, config.cache_bytes),
                block_cache: BlockCache::default(),
                page_cache: PageCache::default(),
                page_reads: PageReads::default(),
                recent_cache: RecentCache::default(),
                term_cache: TermCache::default(),
                routed_cache: RoutedCache::default(),
                routed_reads: RoutedReads::default(),
                past_usage: PastUsage::default(),
                past_costs: PastCosts::default(),
                merge_queue: MergeQueue::default(),
                vector_cache: VectorCache::default(),
                new_documents: Notify::new(),
                key_cache: KeyCache::new(config.freshness),
                limits: config.limits,
                disk_space: space,
                readiness: ReadinessCache::default(),
                response_growth: TenantGrowth::default(),
                conversation_growth: TenantGrowth::default(),
                chat_growth: TenantGrowth::default(),
                turn_growth: TenantGrowth::default(),
                change_budget: ChangeBudget::new(config.changes_per_hour),
                audit_retention: config.audit_retention,
                cache_drops: CacheDrops::default(),
            });
            let store = Store(inner, None);
            store.index_earlier_skills().await?;
            Ok(store)
        })
    }

    /// The kind of database.
    pub fn database(&self) -> Database {
        self.db().database()
    }

    /// Whether the database responds.
    pub async fn ping(&self) -> Result<()> {
        let sql = Sql::new("SELECT id FROM tenants LIMIT 1");
        self.db().fetch_optional(sql).await.map(drop)
    }

    /// Closes all connections after operations in progress. This also closes all clones.
    pub async fn close(&self) {
        self.db().close().await;
    }

    /// The same store, on behalf of this origin.
    pub(crate) fn with_origin(&self, origin: Option<Arc<AuditOrigin>>) -> Store {
        Store(Arc::clone(&self.0), origin)
    }

    /// On whose behalf it is used, if anybody's.
    pub(crate) fn origin(&self) -> Option<&AuditOrigin> {
        self.1.as_deref()
    }

    pub(crate) fn audit_retention(&self) -> Option<Duration> {
        self.0.audit_retention
    }

    pub(crate) fn db(&self) -> &Db {
        &self.0.db
    }

    pub(crate) fn blobs(&self) -> &Blobs {
        &self.0.blobs
    }

    pub(crate) fn resolve_cache(&self) -> &ResolveCache {
        &self.0.resolve_cache
    }

    pub(crate) fn block_cache(&self) -> &BlockCache {
        &self.0.block_cache
    }

    pub(crate) fn page_cache(&self) -> &PageCache {
        &self.0.page_cache
    }

    pub(crate) fn page_reads(&self) -> &PageReads {
        &self.0.page_reads
    }

    pub(crate) fn recent_cache(&self) -> &RecentCache {
        &self.0.recent_cache
    }

    pub(crate) fn term_cache(&self) -> &TermCache {
        &self.0.term_cache
    }

    pub(crate) fn routed_cache(&self) -> &RoutedCache {
        &self.0.routed_cache
    }

    pub(crate) fn routed_reads(&self) -> &RoutedReads {
        &self.0.routed_reads
    }

    pub(crate) fn past_usage_cache(&self) -> &PastUsage {
        &self.0.past_usage
    }

    pub(crate) fn past_costs_cache(&self) -> &PastCosts {
        &self.0.past_costs
    }

    pub(crate) fn merge_queue(&self) -> &MergeQueue {
        &self.0.merge_queue
    }

    pub(crate) fn vector_cache(&self) -> &VectorCache {
        &self.0.vector_cache
    }

    /// Notified when a skill was uploaded by this process, so that it has no vector yet.
    pub fn new_documents(&self) -> &Notify {
        &self.0.new_documents
    }

    pub(crate) fn key_cache(&self) -> &KeyCache {
        &self.0.key_cache
    }

    pub(crate) fn limits(&self) -> &StorageLimits {
        &self.0.limits
    }

    pub(crate) fn disk_space(&self) -> &DiskSpace {
        &self.0.disk_space
    }

    pub(crate) fn change_budget(&self) -> &ChangeBudget {
        &self.0.change_budget
    }

    /// Growth of stored responses.
    pub(crate) fn response_growth(&self) -> &TenantGrowth {
        &self.0.response_growth
    }

    /// Growth of conversations.
    pub(crate) fn conversation_growth(&self) -> &TenantGrowth {
        &self.0.conversation_growth
    }

    /// Growth of stored chat completions.
    pub(crate) fn chat_growth(&self) -> &TenantGrowth {
        &self.0.chat_growth
    }

    /// Growth of hidden turns.
    pub(crate) fn turn_growth(&self) -> &TenantGrowth {
        &self.0.turn_growth
    }

    pub(crate) fn readiness(&self) -> &ReadinessCache {
        &self.0.readiness
    }

    pub(crate) fn cache_drop_channel(&self) -> &CacheDrops {
        &self.0.cache_drops
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("database", &self.database())
            .finish_non_exhaustive()
    }
}

/// The local folders that store rows and content.
fn local_folders(config: &StoreConfig) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if config.database == "sqlite" {
        folders.push(config.data_dir.clone());
    }
    if config.blobs == "local" {
        folders.push(config.data_dir.join(BLOB_FOLDER));
    }
    folders
}

async fn open_database(config: &StoreConfig, evidence: &EarlierContent<'_>) -> Result<Db> {
    match config.database.as_str() {
        "sqlite" => {
            let folder = &config.data_dir;
            std::fs::create_dir_all(folder).map_err(|error| Error::Config {
                setting: "data_dir",
                reason: format!("cannot create folder {}: {error}", folder.display()),
            })?;
            evidence.check_sqlite_file().await?;
            Db::open_sqlite(&folder.join(DATABASE_FILE), evidence).await
        }
        url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            Db::open_postgres(url, evidence).await
        }
        // The value may contain a password, so it is not quoted.
        _ => Err(Error::Config {
            setting: "store.url",
            reason: "must be `sqlite` or begin with `postgres://`".to_owned(),
        }),
    }
}
