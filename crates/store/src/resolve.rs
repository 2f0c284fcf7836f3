//! Resolves a skill's id and version for a run, mostly from a cache.
//!
//! # What is cached, and how it stays correct
//!
//! - *Which version is selected* is cached for the configured freshness (a second by
//!   default), so a version created by another process is seen that much later at most.
//!   Every change made through this store starts a new generation, and entries of earlier
//!   generations are not used: its own writes are seen immediately.
//!   A version that is revoked by another process is refused that much later at most.
//! - *What a version contains* never changes, so it is cached by its id as long as memory
//!   allows. Files are loaded on first use, once for all concurrent users, also when the cache
//!   has forgotten the version meanwhile.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use moka::future::Cache;
use prowess_skill::{Bundle, BundleLimits, Digest, LoadOptions, Skill};
use tokio::sync::OnceCell;

use crate::Store;
use crate::blob::read_version;
use crate::error::{Error, ResourceKind, Result};
use crate::loaded_skills::LoadedSkills;
use crate::skills::{
    VersionDetail, VersionSelector, latest_version_ids, skill_title, usable_version_id,
    version_detail_by_id,
};
use crate::tenant::TenantId;

/// Cached lookups; each is small.
const MAX_CACHED_LOOKUPS: u64 = 20_000;

/// Bytes of a skill that is assembled where it is loaded.
const MAX_INLINE_BYTES: i64 = 1 << 20;

/// A version of a skill, ready for a run. Its files are loaded by [`Store::load`].
#[derive(Debug)]
pub struct ResolvedSkill {
    /// The skill's display title, if it has one.
    pub title: Option<String>,
    /// Everything that was parsed from it at upload. Notes are those of the time when it was
    /// first read.
    pub detail: VersionDetail,
    loaded: OnceCell<Arc<Skill>>,
}

/// Generation, tenant, skill, version.
type LookupKey = (u64, TenantId, String, VersionSelector);

/// The cache of [`Store::resolve`].
pub(crate) struct ResolveCache {
    generation: AtomicU64,
    version_ids: Cache<LookupKey, Arc<str>>,
    versions: Cache<Arc<str>, Arc<ResolvedSkill>>,
    /// Also of versions that the cache has forgotten while they are in use.
    skills: LoadedSkills,
}

impl ResolveCache {
    pub(crate) fn new(freshness: Duration, bytes: u64) -> Self {
        ResolveCache {
            generation: AtomicU64::new(0),
            version_ids: Cache::builder()
                .max_capacity(MAX_CACHED_LOOKUPS)
                .time_to_live(freshness)
                .build(),
            versions: Cache::builder()
                .max_capacity(bytes)
                .weigher(|_, resolved: &Arc<ResolvedSkill>| weight(resolved))
                .build(),
            skills: LoadedSkills::default(),
        }
    }

    pub(crate) fn invalidate(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// The key of a lookup in the current generation; taken before the database is
    /// queried.
    fn lookup_key(&self, tenant: &TenantId, skill: &str, selector: &VersionSelector) -> LookupKey {
        let generation = self.generation.load(Ordering::Acquire);
        (
            generation,
            tenant.clone(),
            skill.to_owned(),
            selector.clone(),
        )
    }

    async fn get(&self, key: &LookupKey) -> Option<Arc<ResolvedSkill>> {
        let id = self.version_ids.get(key).await?;
        self.versions.get(&id).await
    }
}

/// The memory that a version may occupy: its texts, and its files once loaded.
fn weight(resolved: &ResolvedSkill) -> u32 {
    let files = resolved.detail.version.total_bytes;
    let texts = resolved.detail.body.len() + 256 * resolved.detail.manifest.files().len();
    u32::try_from(files.saturating_add(texts as i64)).unwrap_or(u32::MAX)
}

impl Store {
    /// The selected version, without reading its files.
    ///
    /// # Errors
    /// When there is no such version, or it is revoked.
    pub fn resolve<'a>(
        &'a self,
        tenant: &'a TenantId,
        skill: &'a str,
        selector: &'a VersionSelector,
    ) -> BoxFuture<'a, Result<Arc<ResolvedSkill>>> {
        Box::pin(async move {
            let key = self.resolve_cache().lookup_key(tenant, skill, selector);
            if let Some(resolved) = self.resolve_cache().get(&key).await {
                return Ok(resolved);
            }
            match usable_version_id(self.db(), tenant, skill, selector).await? {
                Some(id) => self.cache_lookup(key, id).await,
                None => Err(self.missing_version_error(tenant, skill, selector).await),
            }
        })
    }

    /// A version for people to read, which may be revoked; its skill must be the tenant's. What is
    /// resolved in this way must not be run.
    ///
    /// # Errors
    /// When there is no such version.
    pub fn resolve_for_reading<'a>(
        &'a self,
        tenant: &'a TenantId,
        skill: &'a str,
        selector: &'a VersionSelector,
    ) -> BoxFuture<'a, Result<Arc<ResolvedSkill>>> {
        Box::pin(async move {
            let version = self.version(tenant, skill, selector).await?;
            self.load_version(&version.id.into()).await
        })
    }

    /// The newest versions of several skills, by skill; what is not cached is queried at
    /// once. A skill without a version is left out; [`Store::resolve`] returns the
    /// reason.
    pub fn resolve_latest<'a>(
        &'a self,
        tenant: &'a TenantId,
        skills: &'a [&'a str],
    ) -> BoxFuture<'a, Result<HashMap<String, Arc<ResolvedSkill>>>> {
        Box::pin(async move {
            let mut found = HashMap::new();
            let mut missing = HashMap::new();
            for &skill in skills {
                let latest = &VersionSelector::Latest;
                let key = self.resolve_cache().lookup_key(tenant, skill, latest);
                if let Some(resolved) = self.resolve_cache().get(&key).await {
                    found.insert(skill.to_owned(), resolved);
                } else {
                    missing.insert(skill, key);
                }
            }
            let skills: Vec<&str> = missing.keys().copied().collect();
            for (skill, id) in latest_version_ids(self.db(), tenant, &skills).await? {
                let Some(key) = missing.remove(skill.as_str()) else {
                    continue;
                };
                match self.cache_lookup(key, id).await {
                    Ok(resolved) => found.insert(skill, resolved),
                    // Deleted meanwhile.
                    Err(Error::NotFound { .. }) => continue,
                    Err(error) => return Err(error),
                };
            }
            Ok(found)
        })
    }

    /// Caches a result of the database, and returns the version.
    async fn cache_lookup(&self, key: LookupKey, id: String) -> Result<Arc<ResolvedSkill>> {
        let id: Arc<str> = id.into();
        let resolved = self.load_version(&id).await?;
        self.resolve_cache().version_ids.insert(key, id).await;
        Ok(resolved)
    }

    async fn load_version(&self, id: &Arc<str>) -> Result<Arc<ResolvedSkill>> {
        if let Some(resolved) = self.resolve_cache().versions.get(id).await {
            return Ok(resolved);
        }
        let detail = version_detail_by_id(self.db(), id).await?;
        let detail = detail.ok_or_else(|| Error::not_found(ResourceKind::Version, &**id))?;
        let title = skill_title(self.db(), &detail.version.skill).await?;
        let resolved = Arc::new(ResolvedSkill {
            title,
            detail,
            loaded: OnceCell::new(),
        });
        let cached = resolved.clone();
        self.resolve_cache()
            .versions
            .insert(id.clone(), cached)
            .await;
        Ok(resolved)
    }

    /// The skill with all its files, read and verified once and then shared.
    pub fn load<'a>(&'a self, resolved: &'a ResolvedSkill) -> BoxFuture<'a, Result<Arc<Skill>>> {
        Box::pin(async move {
            let version = &resolved.detail.version;
            let read = || async {
                let contents = read_version(self.blobs(), &version.id).await?;
                if version.total_bytes <= MAX_INLINE_BYTES {
                    return assemble(&resolved.detail, &contents);
                }
                let detail = resolved.detail.clone();
                // The digests of many bytes take milliseconds, for which no other request should
                // wait.
                let work = tokio::task::spawn_blocking(move || assemble(&detail, &contents));
                work.await.unwrap_or(Err(Error::Busy))
            };
            let skills = &self.resolve_cache().skills;
            let load = || skills.get_or_load(&version.id, read());
            resolved.loaded.get_or_try_init(load).await.cloned()
        })
    }
}

/// Rebuilds the bundle as it was uploaded.
fn assemble(detail: &VersionDetail, contents: &HashMap<Digest, Bytes>) -> Result<Skill> {
    let version = &detail.version;
    let damaged = |reason: String| Error::DamagedContent {
        digest: version.digest.to_string(),
        reason: format!("version `{}`: {reason}", version.id),
    };
    let mut files = Vec::new();
    for file in detail.manifest.files() {
        let data = contents
            .get(&file.digest)
            .ok_or_else(|| damaged(format!("{} is missing", file.path)))?;
        let name = match &version.folder {
            Some(folder) => format!("{folder}/{}", file.path),
            None => file.path.to_string(),
        };
        files.push((name, data.clone(), file.executable));
    }
    let limits = stored_limits();
    let bundle = Bundle::from_files(files, &limits).map_err(|error| damaged(error.to_string()))?;
    let options = LoadOptions {
        limits,
        ..LoadOptions::default()
    };
    let loaded = Skill::load(bundle, &options);
    loaded.skill.ok_or_else(|| {
        let first = loaded.diagnostics.first();
        damaged(first.map_or_else(|| "it cannot be loaded".to_owned(), |d| d.message.clone()))
    })
}

/// Content that was accepted once, with whatever limits, is always readable.
fn stored_limits() -> BundleLimits {
    BundleLimits {
        archive_bytes: u64::MAX,
        total_bytes: u64::MAX,
        file_bytes: u64::MAX,
        files: usize::MAX,
        entries: usize::MAX,
        depth: usize::MAX >> 1,
        path_bytes: usize::MAX >> 1,
        part_bytes: usize::MAX >> 2,
        ..BundleLimits::default()
    }
}
