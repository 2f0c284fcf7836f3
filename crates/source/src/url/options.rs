//! Options and limits of fetching.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prowess_skill::{BundleLimits, Digest};

use super::repository_url::RepositoryHost;
use crate::home;

/// Options of fetching.
#[derive(Clone)]
pub struct FetchOptions {
    /// Connect to private and local addresses too. Cloud metadata addresses stay blocked.
    pub allow_private: bool,
    /// Do not connect to public addresses of this machine either, for URLs that somebody else
    /// chooses.
    pub refuse_own_addresses: bool,
    /// Send no request: use only fresh cached content.
    pub offline: bool,
    /// Fetch again, even if the cache is fresh.
    pub refresh: bool,
    /// Use cached content of any age if a host fails.
    pub stale_if_error: bool,
    /// The only accepted content: the digest of a skill's manifest, as `prowess skill show`
    /// prints it.
    pub pin: Option<Digest>,
    /// The cache. Without it nothing is cached.
    pub cache: Option<CacheOptions>,
    /// Limits of requests.
    pub net: FetchLimits,
    /// Limits of each skill.
    pub limits: BundleLimits,
    /// Hosts whose pages are repositories.
    pub repository_hosts: Vec<RepositoryHost>,
    /// Called with the number of bytes of each received chunk.
    pub progress: Option<Arc<dyn Fn(u64) + Send + Sync>>,
}

impl Default for FetchOptions {
    fn default() -> Self {
        FetchOptions {
            allow_private: false,
            refuse_own_addresses: false,
            offline: false,
            refresh: false,
            stale_if_error: false,
            pin: None,
            cache: None,
            net: FetchLimits::default(),
            limits: BundleLimits::default(),
            repository_hosts: RepositoryHost::known(),
            progress: None,
        }
    }
}

/// Where fetched content is cached, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheOptions {
    /// The folder; created if it is missing.
    pub folder: PathBuf,
    /// Maximum bytes. The least recently used are evicted first.
    pub max_bytes: u64,
    /// Maximum number of records.
    pub max_records: usize,
    /// How long a response without `max-age` is fresh.
    pub default_age: Duration,
    /// Maximum time that a response is fresh.
    pub max_age: Duration,
}

impl CacheOptions {
    /// Default limits, in `PROWESS_CACHE_DIR` or the user's cache folder. None for a user
    /// without a home folder.
    pub fn from_env() -> Option<Self> {
        let absolute_path = |name| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .map(|path| home::expand(&path).unwrap_or(path))
                .filter(|path| path.is_absolute())
        };
        if let Some(folder) = absolute_path("PROWESS_CACHE_DIR") {
            return Some(Self::in_folder(folder));
        }
        let shared =
            absolute_path("XDG_CACHE_HOME").or_else(|| Some(absolute_path("HOME")?.join(".cache")));
        Some(Self::in_folder(shared?.join("prowess/sources")))
    }

    /// Default limits, in this folder.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        CacheOptions {
            folder: folder.into(),
            max_bytes: 1 << 30,
            max_records: 10_000,
            default_age: Duration::from_secs(60 * 60),
            max_age: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// Limits of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchLimits {
    /// Redirects followed for one request.
    pub redirects: usize,
    /// Time to connect.
    pub connect: Duration,
    /// Time without a byte.
    pub idle: Duration,
    /// Time for one request, redirects included.
    pub total: Duration,
    /// How long a host may be slower than [`FetchLimits::min_bytes_per_second`].
    pub grace: Duration,
    /// Average bytes per second that a host must send.
    pub min_bytes_per_second: u64,
    /// Bytes of an index.
    pub index_bytes: u64,
    /// Skills in an index, or in a repository.
    pub index_entries: usize,
    /// Bytes of a repository's archive as sent.
    pub tree_bytes: u64,
    /// Bytes of all skills of one source together, unpacked.
    pub source_bytes: u64,
    /// Requests at one time.
    pub concurrent: usize,
}

impl Default for FetchLimits {
    fn default() -> Self {
        FetchLimits {
            redirects: 5,
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(15),
            total: Duration::from_secs(120),
            grace: Duration::from_secs(10),
            min_bytes_per_second: 1 << 10,
            index_bytes: 4 << 20,
            index_entries: 1_000,
            tree_bytes: 100_000_000,
            source_bytes: 300_000_000,
            concurrent: 8,
        }
    }
}
