//! Virtual keys: who may do what, for which tenant.
//!
//! A key is shown once and kept as its SHA-256 only. 128 bits of chance need no
//! slow hash. It is found by its prefix, which is no secret, and compared in
//! constant time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use moka::future::Cache;
use prowess_skill::Digest;
use subtle::ConstantTimeEq;

use crate::Store;
use crate::db::{DbRow, Sql};
use crate::error::{Error, ResourceKind, Result};
use crate::id::{self, IdPrefix};
use crate::key_limits::KeyLimits;
use crate::outage::Outage;
use crate::tenant::TenantId;
use crate::time::Timestamp;

const KEY_PREFIX: &str = "sk-pw-";
const PREFIX_DIGITS: u32 = 10;
const SECRET_DIGITS: u32 = 25;
/// Keys remembered; each is small.
const MAX_CACHED_KEYS: u64 = 10_000;
/// How long a key is taken as it was while the database does not answer. A key that is
/// revoked elsewhere in that time is refused when this is over.
const STALE_KEY_LIFETIME: Duration = Duration::from_secs(300);
/// How long a known key waits for the database.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyScope {
    /// See skills and files.
    Read,
    /// Run requests.
    Use,
    /// Upload and delete skills and files.
    Publish,
    /// Everything, keys included.
    Admin,
}

impl KeyScope {
    const ALL: [KeyScope; 4] = [
        KeyScope::Read,
        KeyScope::Use,
        KeyScope::Publish,
        KeyScope::Admin,
    ];

    /// The name used everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            KeyScope::Read => "read",
            KeyScope::Use => "use",
            KeyScope::Publish => "publish",
            KeyScope::Admin => "admin",
        }
    }

    /// From its name.
    pub fn parse(text: &str) -> Result<Self> {
        let found = KeyScope::ALL
            .into_iter()
            .find(|scope| scope.as_str() == text);
        found.ok_or_else(|| Error::Invalid {
            field: "scope",
            reason: format!(
                "`{}` is not read, use, publish or admin",
                text.escape_debug()
            ),
        })
    }
}

/// A key to be made.
#[derive(Debug, Clone)]
pub struct NewKey<'a> {
    /// What it is for, for people.
    pub name: &'a str,
    /// What it may do.
    pub scopes: &'a [KeyScope],
    /// How long it is valid; for ever if not said.
    pub expires_in: Option<Duration>,
}

/// A key as stored: all but the key itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// `key_…`.
    pub id: String,
    /// For whom it acts.
    pub tenant: TenantId,
    /// What it is for, for people.
    pub name: String,
    /// How it begins; enough to recognise it, not to use it.
    pub prefix: String,
    /// What it may do, in order.
    pub scopes: Vec<KeyScope>,
    /// What it may spend.
    pub limits: KeyLimits,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last seen, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// Until when it is valid, if not for ever.
    pub expires_at: Option<Timestamp>,
    /// Since when it is no longer.
    pub revoked_at: Option<Timestamp>,
}

impl KeyRecord {
    /// Whether it may do this. An admin's key may do everything.
    pub fn allows(&self, scope: KeyScope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&KeyScope::Admin)
    }

    fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| at > now)
    }

    fn from_row(row: &DbRow) -> Result<Self> {
        let scopes = row.text("scopes")?;
        Ok(KeyRecord {
            id: row.text("id")?,
            tenant: TenantId::new(row.text("tenant")?)?,
            name: row.text("name")?,
            prefix: row.text("prefix")?,
            scopes: scopes
                .split(' ')
                .map(KeyScope::parse)
                .collect::<Result<_>>()?,
            limits: KeyLimits::from_row(row)?,
            created_at: row.time("created_at")?,
            last_used_at: row.optional_time("last_used_at")?,
            expires_at: row.optional_time("expires_at")?,
            revoked_at: row.optional_time("revoked_at")?,
        })
    }
}

/// A key in the clear. It is shown once and never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(String);

impl SecretKey {
    fn generate() -> Result<(Self, String)> {
        let prefix = format!("{KEY_PREFIX}{}", id::random_text(PREFIX_DIGITS)?);
        let secret = id::random_text(SECRET_DIGITS)?;
        Ok((SecretKey(format!("{prefix}-{secret}")), prefix))
    }

    /// The key itself, to be shown to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

/// Keys seen lately, by the digest of the whole key.
pub(crate) struct KeyCache {
    /// As they are.
    fresh: Cache<Digest, Arc<KeyRecord>>,
    /// As they were when the database last answered, for when it does not.
    stale: Cache<Digest, Arc<KeyRecord>>,
    outage: Outage,
}

impl KeyCache {
    pub(crate) fn new(freshness: Duration) -> Self {
        let cache = |time| {
            Cache::builder()
                .max_capacity(MAX_CACHED_KEYS)
                .time_to_live(time)
        };
        KeyCache {
            fresh: cache(freshness).build(),
            stale: cache(freshness.max(STALE_KEY_LIFETIME)).build(),
            outage: Outage::default(),
        }
    }

    fn invalidate_all(&self) {
        self.fresh.invalidate_all();
        self.stale.invalidate_all();
    }
}

const SELECT_KEYS: &str = "SELECT id, tenant, name, prefix, hash, scopes, models,
    requests_per_minute, tokens_per_minute, budget_nanos, budget_period, created_at, last_used_at,
    expires_at, revoked_at FROM keys WHERE ";

impl Store {
    /// Makes a key without limits. This is the only time it can be seen.
    pub async fn create_key(
        &self,
        tenant: &TenantId,
        new: &NewKey<'_>,
    ) -> Result<(KeyRecord, SecretKey)> {
        let limits = KeyLimits::default();
        self.create_limited_key(tenant, new, &limits).await
    }

    /// Makes a key that may spend only so much. This is the only time it can be seen.
    pub async fn create_limited_key(
        &self,
        tenant: &TenantId,
        new: &NewKey<'_>,
        limits: &KeyLimits,
    ) -> Result<(KeyRecord, SecretKey)> {
        limits.check()?;
        let scopes = normalize_scopes(new.scopes)?;
        let (secret, prefix) = SecretKey::generate()?;
        let now = Timestamp::now();
        let key = KeyRecord {
            id: id::new_id(IdPrefix::Key, now)?,
            tenant: tenant.clone(),
            name: new.name.to_owned(),
            prefix,
            scopes,
            limits: limits.clone(),
            created_at: now,
            last_used_at: None,
            expires_at: new.expires_in.map(|time| now.after(time)),
            revoked_at: None,
        };
        let names: Vec<_> = key.scopes.iter().map(|scope| scope.as_str()).collect();
        let sql = Sql::new(
            "INSERT INTO keys (id, tenant, name, prefix, hash, scopes, created_at, expires_at,
                 models, requests_per_minute, tokens_per_minute, budget_nanos, budget_period)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        );
        let sql = sql.bind(&key.id).bind(tenant.as_str()).bind(&key.name);
        let sql = sql
            .bind(&key.prefix)
            .bind(key_digest(secret.reveal()).hex());
        let sql = sql.bind(names.join(" ")).bind(now).bind(key.expires_at);
        tenant.map_unknown_tenant(self.db().execute(limits.bind_to(sql)).await)?;
        Ok((key, secret))
    }

    /// Whose key this is; nothing when it is none, has expired or was revoked.
    /// Cheap: keys are remembered for the configured freshness. While the database does
    /// not answer, keys that it knew a few minutes ago are taken as they were then.
    pub async fn authenticate(&self, presented: &str) -> Result<Option<Arc<KeyRecord>>> {
        let digest = key_digest(presented);
        let key = match self.key_cache().fresh.get(&digest).await {
            Some(key) => Some(key),
            None => self.look_up_or_use_stale(presented, digest).await?,
        };
        Ok(key.filter(|key| key.is_valid(Timestamp::now())))
    }

    async fn look_up_or_use_stale(
        &self,
        presented: &str,
        digest: Digest,
    ) -> Result<Option<Arc<KeyRecord>>> {
        let Some(stale) = self.key_cache().stale.get(&digest).await else {
            return self.look_up(presented, digest).await;
        };
        let outage = &self.key_cache().outage;
        if !outage.can_try() {
            return Ok(Some(stale));
        }
        let found = tokio::time::timeout(LOOKUP_TIMEOUT, self.look_up(presented, digest)).await;
        match found {
            Ok(Ok(found)) => {
                outage.end();
                if found.is_none() {
                    self.key_cache().stale.invalidate(&digest).await;
                }
                Ok(found)
            }
            Ok(Err(error)) if !error.is_transient() => Err(error),
            _ => {
                outage.begin();
                Ok(Some(stale))
            }
        }
    }

    async fn look_up(&self, presented: &str, digest: Digest) -> Result<Option<Arc<KeyRecord>>> {
        let Some(prefix) = key_prefix(presented) else {
            return Ok(None);
        };
        let row = self
            .db()
            .fetch_optional(Sql::new(SELECT_KEYS).push_bind("prefix = ", prefix))
            .await?;
        let Some(row) = row else {
            return Ok(None);
        };
        let stored = row.text("hash")?;
        if !bool::from(stored.as_bytes().ct_eq(digest.hex().as_bytes())) {
            return Ok(None);
        }
        let key = Arc::new(KeyRecord::from_row(&row)?);
        self.key_cache().fresh.insert(digest, key.clone()).await;
        self.key_cache().stale.insert(digest, key.clone()).await;
        Ok(Some(key))
    }

    /// Notes that a key was used. Meant to be done off the path of a request; at
    /// most once a minute anything is written.
    pub async fn touch_key(&self, key: &KeyRecord) -> Result<()> {
        let now = Timestamp::now();
        let lately = now.before(Duration::from_secs(60));
        if key.last_used_at.is_some_and(|at| at > lately) {
            return Ok(());
        }
        let sql = Sql::new(
            "UPDATE keys SET last_used_at = $1
             WHERE id = $2 AND (last_used_at IS NULL OR last_used_at < $3)",
        );
        self.db()
            .execute(sql.bind(now).bind(&key.id).bind(lately))
            .await
            .map(drop)
    }

    /// All keys of a tenant, newest first, revoked ones included.
    pub async fn list_keys(&self, tenant: &TenantId) -> Result<Vec<KeyRecord>> {
        let sql = Sql::new(SELECT_KEYS).push_bind("tenant = ", tenant.as_str());
        let rows = self.db().fetch_all(sql.push(" ORDER BY id DESC")).await?;
        rows.iter().map(KeyRecord::from_row).collect()
    }

    /// Ends a key, by its id or its prefix. Here it is refused at once; other
    /// processes may take it until their freshness is over.
    pub async fn revoke_key(&self, tenant: &TenantId, key: &str) -> Result<()> {
        let sql = Sql::new(
            "UPDATE keys SET revoked_at = COALESCE(revoked_at, $1)
             WHERE tenant = $2 AND (id = $3 OR prefix = $3)",
        );
        let sql = sql.bind(Timestamp::now()).bind(tenant.as_str()).bind(key);
        if self.db().execute(sql).await? == 0 {
            return Err(Error::not_found(ResourceKind::Key, key));
        }
        self.key_cache().invalidate_all();
        Ok(())
    }
}

fn normalize_scopes(scopes: &[KeyScope]) -> Result<Vec<KeyScope>> {
    if scopes.is_empty() {
        return Err(Error::Invalid {
            field: "scopes",
            reason: "a key needs at least one of read, use, publish, admin".to_owned(),
        });
    }
    let held = |scope: &KeyScope| scopes.contains(scope);
    Ok(KeyScope::ALL.into_iter().filter(held).collect())
}

fn key_digest(key: &str) -> Digest {
    Digest::from_content(key.as_bytes())
}

/// The part of a key by which it is found. Nothing when it cannot be one of ours.
fn key_prefix(key: &str) -> Option<&str> {
    let whole = KEY_PREFIX.len() + PREFIX_DIGITS as usize;
    let prefix = key
        .get(..whole)
        .filter(|prefix| prefix.starts_with(KEY_PREFIX))?;
    let secret = key.get(whole..)?.strip_prefix('-')?;
    (secret.len() == SECRET_DIGITS as usize).then_some(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_its_prefix_and_never_printed() {
        let (secret, prefix) = SecretKey::generate().unwrap();
        assert_eq!(key_prefix(secret.reveal()), Some(prefix.as_str()));
        assert_eq!(format!("{secret:?}"), "SecretKey(…)");
    }

    #[test]
    fn no_query_is_made_for_what_cannot_be_a_key() {
        for key in [
            "",
            "sk-pw-",
            "sk-ant-0123456789-0123456789012345678901234",
            "ключ",
        ] {
            assert_eq!(key_prefix(key), None, "{key}");
        }
    }
}
