//! The content of a URL, from the cache or the host.

use std::sync::Arc;

use bytes::Bytes;
use prowess_skill::Digest;
use url::Url;

use super::cache::{Cache, CacheRecord};
use super::error::FetchError;
use super::fetched_skill::FetchState;
use super::freshness::{self, CachePolicy};
use super::http::{HttpAnswer, HttpFetcher};
use super::options::FetchOptions;

/// Fetches what URLs name, with a cache. Clones share everything.
#[derive(Clone)]
pub struct Fetcher {
    pub(super) options: Arc<FetchOptions>,
    http: Arc<HttpFetcher>,
    cache: Option<Arc<Cache>>,
}

/// Bytes and how current they are.
pub(super) struct FetchedBytes {
    pub(super) data: Bytes,
    pub(super) state: FetchState,
}

/// A record and its bytes.
struct CachedBytes {
    record: CacheRecord,
    data: Bytes,
}

impl Fetcher {
    /// A fetcher; fails when its cache cannot be used.
    pub fn new(options: FetchOptions) -> Result<Self, FetchError> {
        let http = Arc::new(HttpFetcher::new(&options)?);
        let cache = options.cache.clone().map(Cache::open).transpose()?;
        Ok(Fetcher {
            options: Arc::new(options),
            http,
            cache: cache.map(Arc::new),
        })
    }

    /// Checks a URL before any request.
    pub(super) fn check(&self, url: &Url) -> Result<(), FetchError> {
        self.http.check(url)
    }

    /// The bytes of a URL: at most `cap`, and matching `digest` if one is given.
    pub(super) async fn fetch(
        &self,
        url: &Url,
        cap: u64,
        digest: Option<Digest>,
    ) -> Result<FetchedBytes, FetchError> {
        self.check(url)?;
        if let Some(digest) = digest
            && let Some(data) = self.read_cached(digest, cap).await
        {
            let state = FetchState::Cached;
            return Ok(FetchedBytes { data, state });
        }
        let kept = self.find_cached(url, cap).await;
        match kept {
            Some(kept) if kept.record.is_fresh() && !self.options.refresh => {
                verify_digest(digest, kept.record.digest)?;
                let (data, state) = (kept.data, FetchState::Cached);
                Ok(FetchedBytes { data, state })
            }
            kept if self.options.offline => self.fall_back(kept, FetchError::Offline("")),
            kept => self.fetch_from_host(url, cap, digest, kept).await,
        }
    }

    async fn fetch_from_host(
        &self,
        url: &Url,
        cap: u64,
        digest: Option<Digest>,
        kept: Option<CachedBytes>,
    ) -> Result<FetchedBytes, FetchError> {
        let known = kept.as_ref().filter(|_| !self.options.refresh);
        let known = known.map(|kept| kept.record.validators());
        let answer = match self.http.get(url, cap, known.as_ref()).await {
            Ok(answer) => answer,
            Err(error) if error.is_outage() => return self.fall_back(kept, error),
            Err(error) => return Err(error),
        };
        let (data, state) = match (&answer.body, kept) {
            (Some(body), _) => (body.clone(), FetchState::Fetched),
            (None, Some(kept)) => (kept.data, FetchState::Revalidated),
            (None, None) => return Err(FetchError::Status(304)),
        };
        let computed = Digest::from_content(&data);
        verify_digest(digest, computed)?;
        self.save_to_cache(url, answer, computed, &data).await?;
        Ok(FetchedBytes { data, state })
    }

    /// Cached content of any age, if the options allow it; otherwise the error.
    fn fall_back(
        &self,
        kept: Option<CachedBytes>,
        error: FetchError,
    ) -> Result<FetchedBytes, FetchError> {
        match (kept, error) {
            (Some(kept), _) if self.options.stale_if_error => Ok(FetchedBytes {
                data: kept.data,
                state: FetchState::Stale,
            }),
            (Some(_), FetchError::Offline(_)) => Err(FetchError::Offline(
                "the cached content is no longer fresh; use --stale to accept it",
            )),
            (None, FetchError::Offline(_)) => Err(FetchError::Offline("it is not in the cache")),
            (_, error) => Err(error),
        }
    }

    async fn save_to_cache(
        &self,
        url: &Url,
        answer: HttpAnswer,
        digest: Digest,
        data: &Bytes,
    ) -> Result<(), FetchError> {
        let Some(cache) = &self.cache else {
            return Ok(());
        };
        let CachePolicy::Fresh(fresh) =
            freshness::cache_policy(&answer.cache_control, answer.age, cache.options())
        else {
            return Ok(());
        };
        let private = self.options.allow_private;
        let record = CacheRecord::new(url.as_str(), digest, answer.validators, fresh, private);
        let data = data.clone();
        let unchanged = answer.body.is_none();
        let kept = self.with_cache(move |cache| {
            if unchanged {
                cache.renew(&record)
            } else {
                cache.keep(&record, &data)
            }
        });
        kept.await.unwrap_or(Ok(()))
    }

    /// Whether usable content is cached for a URL.
    pub(super) async fn is_cached(&self, url: &Url, even_stale: bool) -> bool {
        let kept = self.find_cached(url, u64::MAX - 1).await;
        kept.is_some_and(|kept| even_stale || kept.record.is_fresh())
    }

    /// The cached bytes of a URL, of any age.
    pub(super) async fn cached_bytes(&self, url: &Url, cap: u64) -> Option<Bytes> {
        self.find_cached(url, cap).await.map(|kept| kept.data)
    }

    async fn find_cached(&self, url: &Url, cap: u64) -> Option<CachedBytes> {
        let (url, private) = (url.to_string(), self.options.allow_private);
        let found = self.with_cache(move |cache| {
            let record = cache.find(&url, private)?;
            let data = cache.read(record.digest, cap)?;
            Some(CachedBytes { record, data })
        });
        found.await.flatten()
    }

    async fn read_cached(&self, digest: Digest, cap: u64) -> Option<Bytes> {
        let read = self.with_cache(move |cache| cache.read(digest, cap));
        read.await.flatten()
    }

    /// Runs work on the cache, if there is one, on a blocking thread.
    async fn with_cache<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cache) -> T + Send + 'static,
    ) -> Option<T> {
        let cache = Arc::clone(self.cache.as_ref()?);
        tokio::task::spawn_blocking(move || work(&cache)).await.ok()
    }
}

fn verify_digest(stated: Option<Digest>, computed: Digest) -> Result<(), FetchError> {
    match stated {
        Some(stated) if stated != computed => Err(FetchError::DigestMismatch { stated, computed }),
        _ => Ok(()),
    }
}
