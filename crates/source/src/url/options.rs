//! How sources by URL are fetched, and what they may cost.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prowess_skill::{BundleLimits, Digest};

use super::repository_url::RepositoryHost;
use crate::home;

/// How to fetch.
#[derive(Clone)]
pub struct FetchOptions {
    /// Connect to private and local addresses too. Those where clouds tell secrets
    /// about their machines stay closed.
    pub allow_private: bool,
    /// Make no request: use what is cached and fresh.
    pub offline: bool,
    /// Fetch anew, however fresh the cache is.
    pub refresh: bool,
    /// Use what is cached, however old, when a host does not answer as it should.
    pub stale_if_error: bool,
    /// The only content that is taken: the digest of a skill's manifest, as
    /// `prowess skill show` prints it.
    pub pin: Option<Digest>,
    /// Where fetched bytes are kept, and how many. Nothing is kept without it.
    pub cache: Option<CacheOptions>,
    /// What requests may cost.
    pub net: FetchLimits,
    /// What each skill may cost.
    pub limits: BundleLimits,
    /// Hosts whose web pages stand for repositories.
    pub repository_hosts: Vec<RepositoryHost>,
    /// Told the number of bytes of each piece that arrives.
    pub progress: Option<Arc<dyn Fn(u64) + Send + Sync>>,
}

impl Default for FetchOptions {
    fn default() -> Self {
        FetchOptions {
            allow_private: false,
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

/// Where fetched bytes are kept, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheOptions {
    /// The folder; made when it is missing.
    pub folder: PathBuf,
    /// Bytes kept at most. The longest unused go first.
    pub max_bytes: u64,
    /// Answers remembered at most.
    pub max_records: usize,
    /// How long an answer is fresh when it does not say.
    pub default_age: Duration,
    /// How long an answer is fresh at most, whatever it says.
    pub max_age: Duration,
}

impl CacheOptions {
    /// The usual bounds in the usual folder: `PROWESS_CACHE_DIR`, else the user's folder
    /// for caches. There is none for a user without a home.
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

    /// The usual bounds, in this folder.
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

/// Bounds on requests.
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
    /// How long a host may be slower than [`NetLimits::least_rate`].
    pub grace: Duration,
    /// Bytes in each second, on average, that a host must send.
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
