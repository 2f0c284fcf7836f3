//! Uploads and downloads of much at once: a tenant has half of the turns, so that its slow
//! ones keep nobody else's waiting.

use std::time::Duration;

use axum::http::StatusCode;
use prowess_store::TenantId;

use crate::error::ApiError;
use crate::settings::Settings;
use crate::shares::{FairPool, Permit, PoolBounds};

/// Requests of one tenant that wait for a turn.
const MAX_WAITING: usize = 64;
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
pub(crate) type Turn = Permit<TenantId>;

impl Transfers {
    pub(crate) fn new(settings: &Settings) -> Transfers {
        let skills = settings.uploads.max(1);
        let files = skills.saturating_mul(FILES_PER_SKILL);
        Transfers {
            skills: FairPool::new(PoolBounds::halves(skills, MAX_WAITING)),
            files: FairPool::new(PoolBounds::halves(files, MAX_WAITING)),
            archives: FairPool::new(PoolBounds::halves(skills, MAX_WAITING)),
            wait: settings.upload_wait,
        }
    }

    /// A turn to upload a skill.
    pub(crate) async fn skill(&self, tenant: &TenantId) -> Result<Turn, ApiError> {
        self.turn(&self.skills, tenant).await
    }

    /// A turn to upload a file.
    pub(crate) async fn file(&self, tenant: &TenantId) -> Result<Turn, ApiError> {
        self.turn(&self.files, tenant).await
    }

    /// A turn to fetch a skill, which is in memory until it was read.
    pub(crate) async fn archive(&self, tenant: &TenantId) -> Result<Turn, ApiError> {
        self.turn(&self.archives, tenant).await
    }

    async fn turn(&self, pool: &FairPool<TenantId>, tenant: &TenantId) -> Result<Turn, ApiError> {
        match tokio::time::timeout(self.wait, pool.acquire(tenant)).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(busy()),
        }
    }
}

fn busy() -> ApiError {
    ApiError::new(
        StatusCode::TOO_MANY_REQUESTS,
        "transfers-busy",
        "as many uploads or downloads as allowed are under way, and this one's turn did not come; \
         have fewer at once, and try again shortly",
    )
    .retry_after(RETRY_SECONDS)
}
