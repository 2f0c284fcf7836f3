//! Virtual keys: their tenant, scopes and limits.
//!
//! A key is shown once and stored only as its SHA-256. A random secret of 128 bits needs
//! no slow hash. It is looked up by its prefix, which is not secret, and compared in
//! constant time.
//!
//! | module | owns |
//! |---|---|
//! | `create`, `list`, `update`, `rotate`, `revoke` | the operations of those names |
//! | `grant` | that no key gives away more than it has |
//! | `state` | a key in the audit log |
//! | `with_secret` | a key by a secret that was shown before |

mod create;
mod grant;
mod list;
mod revoke;
mod rotate;
mod state;
mod update;
mod with_secret;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use moka::future::Cache;
use prowess_skill::Digest;
use prowess_skill::misleading::describe_misleading;
use subtle::ConstantTimeEq;

use crate::Store;
use crate::db::{DbRow, Sql};
use crate::error::{Error, Result};
use crate::id;
use crate::key_limits::KeyLimits;
use crate::outage::Outage;
use crate::tenant::TenantId;
use crate::time::Timestamp;

pub use grant::KeyGranter;
pub use update::KeyChange;

const KEY_PREFIX: &str = "sk-pw-";
const PREFIX_DIGITS: u32 = 10;
const SECRET_DIGITS: u32 = 25;
/// Cached keys; each is small.
const MAX_CACHED_KEYS: u64 = 10_000;
/// How long a cached key is accepted while the database is unreachable. A key that is
/// revoked elsewhere meanwhile is refused after this time.
const STALE_KEY_LIFETIME: Duration = Duration::from_secs(300);
/// How long the lookup of a cached key waits for the database.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);

/// What a key permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyScope {
    /// List and read skills and files.
    Read,
    /// Send requests to models.
    Use,
    /// Upload and delete skills and files.
    Publish,
    /// Move protected labels of skills.
    Release,
    /// Call any path of a provider's API. Only the operator gives it, as all tenants share the
    /// provider's account.
    Providers,
    /// Read the metrics of the whole server. Only the operator gives it, as they cover all tenants.
    Metrics,
    /// Everything in its tenant, keys included, but neither paths of providers nor metrics.
    Admin,
}

impl KeyScope {
    const ALL: [KeyScope; 7] = [
        KeyScope::Read,
        KeyScope::Use,
        KeyScope::Publish,
        KeyScope::Release,
        KeyScope::Providers,
        KeyScope::Metrics,
        KeyScope::Admin,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            KeyScope::Read => "read",
            KeyScope::Use => "use",
            KeyScope::Publish => "publish",
            KeyScope::Release => "release",
            KeyScope::Providers => "providers",
            KeyScope::Metrics => "metrics",
            KeyScope::Admin => "admin",
        }
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self> {
        let found = KeyScope::ALL
            .into_iter()
            .find(|scope| scope.as_str() == text);
        found.ok_or_else(|| Error::Invalid {
            field: "scope",
            reason: format!(
                "`{}` is not read, use, publish, release, providers, metrics or admin",
                text.escape_debug()
            ),
        })
    }
}

/// A key to be created.
#[derive(Debug, Clone)]
pub struct NewKey<'a> {
    /// Its display name.
    pub name: &'a str,
    /// Its scopes.
    pub scopes: &'a [KeyScope],
    /// How long it is valid. Default: for ever.
    pub expires_in: Option<Duration>,
    /// Whether its runs may use all stored skills of its tenant, as if their requests had
    /// `auto`. Default: as the operator has configured it.
    pub auto: Option<bool>,
}

/// A stored key, without the key itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// `key_…`.
    pub id: String,
    /// Its tenant.
    pub tenant: TenantId,
    /// Its display name.
    pub name: String,
    /// Its first characters: enough to recognise it, not to use it.
    pub prefix: String,
    /// Its scopes, in order.
    pub scopes: Vec<KeyScope>,
    /// Its limits.
    pub limits: KeyLimits,
    /// Whether its runs may use all stored skills; `None`: as configured.
    pub auto: Option<bool>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// When it expires, if ever.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
    /// Until when the secret that it had before it was rotated is accepted too.
    pub previous_until: Option<Timestamp>,
}

impl KeyRecord {
    /// Whether it has this scope. An admin key has all scopes that concern its tenant only.
    pub fn allows(&self, scope: KeyScope) -> bool {
        let is_of_tenant = !matches!(scope, KeyScope::Providers | KeyScope::Metrics);
        let is_admin = self.scopes.contains(&KeyScope::Admin) && is_of_tenant;
        is_admin || self.scopes.contains(&scope)
    }

    /// Whether it is neither expired nor revoked.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.is_valid(Timestamp::now())
    }

    /// `valid`, `expired` or `revoked`.
    #[must_use]
    pub fn state(&self) -> &'static str {
        if self.revoked_at.is_some() {
            "revoked"
        } else if self.is_active() {
            "valid"
        } else {
            "expired"
        }
    }

    fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| at > now)
    }

    /// Ends with the grace period, if the prefix is that of the secret before the last rotation;
    /// returns whether it is.
    fn limit_to_secret(&mut self, prefix: &str) -> bool {
        let is_previous = self.prefix != prefix;
        if is_previous {
            // Whether the key does or not.
            let until = self.previous_until.unwrap_or(Timestamp::EPOCH);
            self.expires_at = Some(self.expires_at.map_or(until, |at| at.min(until)));
        }
        is_previous
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
            auto: row.optional_int("auto")?.map(|auto| auto != 0),
            created_at: row.time("created_at")?,
            last_used_at: row.optional_time("last_used_at")?,
            expires_at: row.optional_time("expires_at")?,
            revoked_at: row.optional_time("revoked_at")?,
            previous_until: row.optional_time("previous_until")?,
        })
    }
}

/// A key in plain text. It is shown once and never printed by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(String);

impl SecretKey {
    fn generate() -> Result<(Self, String)> {
        let prefix = format!("{KEY_PREFIX}{}", id::random_text(PREFIX_DIGITS)?);
        let secret = id::random_text(SECRET_DIGITS)?;
        Ok((SecretKey(format!("{prefix}-{secret}")), prefix))
    }

    /// The key, to be shown to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

/// Recently used keys, by the digest of the whole key.
pub(crate) struct KeyCache {
    /// Up to date.
    fresh: Cache<Digest, Arc<KeyRecord>>,
    /// As of the last successful lookup, for when the database is unreachable.
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

    pub(crate) fn invalidate_all(&self) {
        self.fresh.invalidate_all();
        self.stale.invalidate_all();
    }
}

const SELECT_KEYS: &str = "SELECT id, tenant, name, prefix, hash, scopes, models,
    requests_per_minute, tokens_per_minute, budget_nanos, budget_period, auto, created_at,
    last_used_at, expires_at, revoked_at, previous_prefix, previous_hash, previous_until
    FROM keys WHERE ";

impl Store {
    /// The record of a key; `None` if it is unknown, expired or revoked. Cheap: keys are
    /// cached for the configured freshness. While the database is unreachable, keys that
    /// were valid a few minutes ago are still accepted.
    pub fn authenticate<'a>(
        &'a self,
        presented: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<KeyRecord>>>> {
        Box::pin(async move {
            let digest = key_digest(presented);
            let key = match self.key_cache().fresh.get(&digest).await {
                Some(key) => Some(key),
                None => self.look_up_or_use_stale(presented, digest).await?,
            };
            Ok(key.filter(|key| key.is_valid(Timestamp::now())))
        })
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
        let sql = Sql::new(SELECT_KEYS).push_bind("prefix = ", prefix);
        let sql = sql.push_bind(" OR previous_prefix = ", prefix);
        let row = self.db().fetch_optional(sql).await?;
        let Some(row) = row else {
            return Ok(None);
        };
        let mut key = KeyRecord::from_row(&row)?;
        let stored = if key.limit_to_secret(prefix) {
            row.optional_text("previous_hash")?.unwrap_or_default()
        } else {
            row.text("hash")?
        };
        if !bool::from(stored.as_bytes().ct_eq(digest.hex().as_bytes())) {
            return Ok(None);
        }
        let key = Arc::new(key);
        self.key_cache().fresh.insert(digest, key.clone()).await;
        self.key_cache().stale.insert(digest, key.clone()).await;
        Ok(Some(key))
    }

    /// Records that a key was used. Call it outside of the request path; it writes at
    /// most once a minute.
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
}

fn normalize_scopes(scopes: &[KeyScope]) -> Result<Vec<KeyScope>> {
    if scopes.is_empty() {
        return Err(Error::Invalid {
            field: "scopes",
            reason: "a key needs at least one of read, use, publish, release, providers, metrics, \
                     admin"
                .to_owned(),
        });
    }
    let held = |scope: &KeyScope| scopes.contains(scope);
    Ok(KeyScope::ALL.into_iter().filter(held).collect())
}

/// Maximum characters of a name.
const MAX_NAME_CHARS: usize = 200;

fn check_name(name: &str) -> Result<()> {
    let length = name.chars().count();
    let reason = match describe_misleading(name) {
        _ if !(1..=MAX_NAME_CHARS).contains(&length) => {
            format!("a key's name is one line of 1 to {MAX_NAME_CHARS} characters")
        }
        Some(why) => format!("the key's name {why}"),
        None => return Ok(()),
    };
    Err(Error::Invalid {
        field: "name",
        reason,
    })
}

fn key_digest(key: &str) -> Digest {
    Digest::from_content(key.as_bytes())
}

/// The prefix of a key, by which it is looked up. `None` if it cannot be a key of
/// Prowess.
pub(crate) fn key_prefix(key: &str) -> Option<&str> {
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
