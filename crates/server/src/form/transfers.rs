//! Uploads and downloads of much at once: a tenant has half of the turns, so that its slow
//! ones keep nobody else's waiting.

use std::time::Duration;

use axum::http::StatusCode;
use prowess_store::TenantId;

use crate::error::HttpError;
use crate::fair_pool::{FairPool, PoolBounds, PoolPermit};
use crate::settings::ServerSettings;

/// Requests of one tenant that wait for a turn.
const MAX_WAITING_PER_TENANT: usize = 64;
/// Files are kept on disk while they come, so that there may be more of them.
const FILES_PER_SKILL: usize = 4;
/// When it is worth trying again.
const RETRY_SECONDS: u64 = 10;

/// Turns to send or fetch much.
pub(crate) struct Transfers {
    skills: FairPool<TenantId>,
    files: FairPool<TenantId>,
    archives: FairPool<TenantId>,
    wait: Duration,
}

/// One turn, until it is dropped.
pub(crate) type TransferPermit = PoolPermit<TenantId>;

impl Transfers {
    pub(crate) fn new(settings: &ServerSettings) -> Transfers {
        let skills = settings.uploads.max(1);
        let files = skills.saturating_mul(FILES_PER_SKILL);
        Transfers {
            skills: FairPool::new(PoolBounds::half_per_owner(skills, MAX_WAITING_PER_TENANT)),
            files: FairPool::new(PoolBounds::half_per_owner(files, MAX_WAITING_PER_TENANT)),
            archives: FairPool::new(PoolBounds::half_per_owner(skills, MAX_WAITING_PER_TENANT)),
            wait: settings.upload_wait,
        }
    }

    /// A turn to upload a skill.
    pub(crate) async fn acquire_skill_upload(
        &self,
        tenant: &TenantId,
    ) -> Result<TransferPermit, HttpError> {
        self.acquire(&self.skills, tenant).await
    }

    /// A turn to upload a file.
    pub(crate) async fn acquire_file_upload(
        &self,
        tenant: &TenantId,
    ) -> Result<TransferPermit, HttpError> {
        self.acquire(&self.files, tenant).await
    }

    /// A turn to fetch a skill, which is in memory until it was read.
    pub(crate) async fn acquire_skill_download(
        &self,
        tenant: &TenantId,
    ) -> Result<TransferPermit, HttpError> {
        self.acquire(&self.archives, tenant).await
    }

    async fn acquire(
        &self,
        pool: &FairPool<TenantId>,
        tenant: &TenantId,
    ) -> Result<TransferPermit, HttpError> {
        match tokio::time::timeout(self.wait, pool.acquire(tenant)).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(busy_error()),
        }
    }
}

fn busy_error() -> HttpError {
    HttpError::new(
        StatusCode::TOO_MANY_REQUESTS,
        "transfers-busy",
        "as many uploads or downloads as allowed are under way, and this one's turn did not come; \
         have fewer at once, and try again shortly",
    )
    .retry_after(RETRY_SECONDS)
}
