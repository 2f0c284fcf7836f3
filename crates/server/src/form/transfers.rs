//! Concurrent uploads and downloads. A tenant may use half of the permits, so that its slow
//! transfers do not block others; of downloads without a key, a client's network may.

use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::stream;
use prowess_store::TenantId;

use crate::error::HttpError;
use crate::fair_pool::{FairPool, Owner, PoolBounds, PoolPermit};
use crate::settings::ServerSettings;

/// Requests of one tenant that wait for a permit.
const MAX_WAITING_PER_TENANT: usize = 64;
/// Files are spooled to disk, so more of them may be uploaded at once.
const FILES_PER_SKILL: usize = 4;
/// Retry delay sent to clients.
const RETRY_SECONDS: u64 = 10;
/// A body that holds a permit is sent in chunks of this size.
const CHUNK_BYTES: usize = 64 << 10;

/// Permits for uploads and downloads.
pub(crate) struct Transfers {
    skills: FairPool<TenantId>,
    files: FairPool<TenantId>,
    archives: FairPool<TenantId>,
    /// Of clients without a key, by their networks.
    public: FairPool<Option<IpAddr>>,
    wait: Duration,
}

/// One permit; released on drop.
pub(crate) type TransferPermit = PoolPermit<TenantId>;
/// One permit of a client without a key; released on drop.
pub(crate) type PublicPermit = PoolPermit<Option<IpAddr>>;

/// A body that holds a permit until the client has read it.
pub(crate) fn body_with_permit<P: Send + 'static>(bytes: Bytes, permit: P) -> Body {
    let next = |(mut bytes, permit): (Bytes, P)| async move {
        let chunk = bytes.split_to(bytes.len().min(CHUNK_BYTES));
        (!chunk.is_empty()).then_some((Ok::<_, Infallible>(chunk), (bytes, permit)))
    };
    let chunks = stream::unfold((bytes, permit), next);
    Body::from_stream(chunks)
}

impl Transfers {
    pub(crate) fn new(settings: &ServerSettings) -> Transfers {
        let skills = settings.uploads.max(1);
        let files = skills.saturating_mul(FILES_PER_SKILL);
        Transfers {
            skills: FairPool::new(PoolBounds::half_per_owner(skills, MAX_WAITING_PER_TENANT)),
            files: FairPool::new(PoolBounds::half_per_owner(files, MAX_WAITING_PER_TENANT)),
            archives: FairPool::new(PoolBounds::half_per_owner(skills, MAX_WAITING_PER_TENANT)),
            public: FairPool::new(PoolBounds::half_per_owner(skills, MAX_WAITING_PER_TENANT)),
            wait: settings.upload_wait,
        }
    }

    /// Whether two settings give the same permits.
    pub(crate) fn has_same_bounds(one: &ServerSettings, other: &ServerSettings) -> bool {
        (one.uploads, one.upload_wait) == (other.uploads, other.upload_wait)
    }

    /// A permit to upload a skill.
    pub(crate) async fn acquire_skill_upload(
        &self,
        tenant: &TenantId,
    ) -> Result<TransferPermit, HttpError> {
        self.acquire(&self.skills, tenant).await
    }

    /// A permit to upload a file.
    pub(crate) async fn acquire_file_upload(
        &self,
        tenant: &TenantId,
    ) -> Result<TransferPermit, HttpError> {
        self.acquire(&self.files, tenant).await
    }

    /// A permit to download a skill, which is in memory until it was sent.
    pub(crate) async fn acquire_skill_download(
        &self,
        tenant: &TenantId,
    ) -> Result<TransferPermit, HttpError> {
        self.acquire(&self.archives, tenant).await
    }

    /// The same for a client of this network that needs no key.
    pub(crate) async fn acquire_public_download(
        &self,
        network: Option<IpAddr>,
    ) -> Result<PublicPermit, HttpError> {
        self.acquire(&self.public, &network).await
    }

    async fn acquire<O: Owner>(
        &self,
        pool: &FairPool<O>,
        owner: &O,
    ) -> Result<PoolPermit<O>, HttpError> {
        match tokio::time::timeout(self.wait, pool.acquire(owner)).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(busy_error()),
        }
    }
}

fn busy_error() -> HttpError {
    HttpError::new(
        StatusCode::TOO_MANY_REQUESTS,
        "transfers-busy",
        "too many concurrent uploads or downloads; send fewer at once, and try again shortly",
    )
    .retry_after(RETRY_SECONDS)
}
