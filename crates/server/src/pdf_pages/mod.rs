//! Pages of PDF files as pictures: drawn by the engine one at a time for a tenant, and kept in
//! memory for those who look again.
//!
//! | module | owns |
//! |---|---|
//! | `picture_cache` | pictures that were drawn, within a share for each tenant |
//!
//! Part of the server's state, so it must not know it.

mod picture_cache;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use prowess_engine::{Engine, PdfPage, PdfPageError};
use prowess_skill::Digest;
use prowess_store::TenantId;

use self::picture_cache::{PictureCache, PictureKey};
use crate::error::HttpError;
use crate::fair_pool::{FairPool, PoolBounds};

/// Pages that are drawn at once, of all tenants; each holds its file in memory.
const MAX_DRAWN_AT_ONCE: usize = 4;
/// Requests of one tenant that wait.
const MAX_WAITING_PER_TENANT: usize = 16;
/// How long they do.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// Retry delay sent to clients.
const RETRY_SECONDS: u64 = 5;

/// Draws pages, and keeps their pictures.
pub(crate) struct PdfPages {
    permits: FairPool<TenantId>,
    pictures: Arc<Mutex<PictureCache>>,
}

impl Default for PdfPages {
    fn default() -> Self {
        let bounds = PoolBounds {
            total: MAX_DRAWN_AT_ONCE,
            per_owner: 1,
            waiting_per_owner: MAX_WAITING_PER_TENANT,
        };
        PdfPages {
            permits: FairPool::new(bounds),
            pictures: Arc::default(),
        }
    }
}

impl PdfPages {
    /// A page of a PDF file of a tenant, counted from 1.
    pub(crate) async fn page(
        &self,
        engine: &Engine,
        tenant: &TenantId,
        pdf: Vec<u8>,
        number: u32,
    ) -> Result<PdfPage, HttpError> {
        let digested = tokio::task::spawn_blocking(move || (Digest::from_content(&pdf), pdf));
        let digested = digested.await;
        let (digest, pdf) = digested.map_err(|error| HttpError::internal("preview", &error))?;
        let key = PictureKey {
            tenant: tenant.clone(),
            digest,
            number,
        };
        if let Some(known) = lock(&self.pictures).get(&key) {
            return Ok(known);
        }
        let permit = tokio::time::timeout(MAX_WAIT, self.permits.acquire(tenant)).await;
        let Ok(Ok(permit)) = permit else {
            return Err(busy_error());
        };
        // Who had the permit before may have drawn it.
        if let Some(known) = lock(&self.pictures).get(&key) {
            return Ok(known);
        }
        let (engine, pictures) = (engine.clone(), Arc::clone(&self.pictures));
        // It goes on when the client leaves, so that its container is removed.
        let drawing = tokio::spawn(async move {
            let _permit = permit;
            let drawn = engine.draw_pdf_page(&key.tenant, pdf, key.number).await;
            if let Ok(page) = &drawn {
                lock(&pictures).insert(key, page.clone());
            }
            drawn
        });
        let drawn = drawing.await;
        let drawn = drawn.map_err(|error| HttpError::internal("preview", &error))?;
        drawn.map_err(to_http_error)
    }
}

fn lock(pictures: &Mutex<PictureCache>) -> MutexGuard<'_, PictureCache> {
    pictures.lock().unwrap_or_else(PoisonError::into_inner)
}

fn busy_error() -> HttpError {
    let message = "pages of other PDF files of this tenant are being drawn, one after the other; \
        try again shortly";
    HttpError::new(StatusCode::TOO_MANY_REQUESTS, "previews-busy", message)
        .retry_after(RETRY_SECONDS)
}

fn to_http_error(error: PdfPageError) -> HttpError {
    let (status, code) = match error {
        PdfPageError::Sandbox(error) => return error.into(),
        PdfPageError::NoSuchPage { .. } => (StatusCode::NOT_FOUND, "preview-page-not-found"),
        PdfPageError::NoSandbox { .. } => (StatusCode::SERVICE_UNAVAILABLE, "sandbox-unavailable"),
        PdfPageError::ProgramMissing => (StatusCode::NOT_IMPLEMENTED, "preview-program-missing"),
        _ => (StatusCode::BAD_REQUEST, "preview-not-drawn"),
    };
    // What is missing is still missing when the same request is sent again.
    HttpError::new(status, code, error.to_string()).without_retry()
}
