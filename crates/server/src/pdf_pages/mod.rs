//! Pages of PDF files as pictures: drawn by the engine one at a time for a tenant, and kept in
//! memory for those who look again.
//!
//! | module | owns |
//! |---|---|
//! | `picture_cache` | pictures that were drawn, within a share for each tenant |
//!
//! Part of the server's state, so it must not know it.

mod picture_cache;

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use prowess_engine::{Engine, PdfPage, PdfPageError};
use prowess_skill::Digest;
use prowess_store::TenantId;
use tokio::sync::oneshot;

use self::picture_cache::{PictureCache, PictureKey};
use crate::error::HttpError;
use crate::fair_pool::{FairPool, PoolBounds, PoolPermit, TooManyWaiting};
use crate::permitted_work::run_with_permit;

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

/// The right to have a PDF file in memory and to draw a page of it.
pub(crate) struct PdfPermit(PoolPermit<TenantId>);

impl PdfPages {
    /// Waits for the tenant's turn. The file is read afterwards, so that one of a tenant is in
    /// memory however many requests wait.
    pub(crate) async fn acquire(&self, tenant: &TenantId) -> Result<PdfPermit, HttpError> {
        match tokio::time::timeout(MAX_WAIT, self.permits.acquire(tenant)).await {
            Ok(Ok(permit)) => Ok(PdfPermit(permit)),
            Ok(Err(TooManyWaiting)) => {
                let message = "too many pages of PDF files of this tenant wait to be drawn, one \
                    after the other; try again shortly";
                Err(busy_error(StatusCode::TOO_MANY_REQUESTS, message))
            }
            Err(_) => {
                let message = "other pages of PDF files are being drawn; try again shortly";
                Err(busy_error(StatusCode::SERVICE_UNAVAILABLE, message))
            }
        }
    }

    /// A page of a PDF file of a tenant, counted from 1.
    pub(crate) async fn page(
        &self,
        PdfPermit(permit): PdfPermit,
        engine: &Engine,
        tenant: &TenantId,
        pdf: Vec<u8>,
        number: u32,
    ) -> Result<PdfPage, HttpError> {
        let digested = run_with_permit(permit, move || (Digest::from_content(&pdf), pdf)).await;
        let digested = digested.map_err(|error| HttpError::internal("preview", &error))?;
        let ((digest, pdf), permit) = digested;
        let key = PictureKey {
            tenant: tenant.clone(),
            digest,
            number,
        };
        if let Some(known) = lock(&self.pictures).get(&key) {
            return Ok(known);
        }
        let (engine, pictures) = (engine.clone(), Arc::clone(&self.pictures));
        // Dropped with this future when the client leaves.
        let (_waiting, left) = oneshot::channel::<Infallible>();
        // A task of its own, which is not dropped when the client leaves: it has the command
        // killed, removes the container, and then gives the permit back.
        let drawing = tokio::spawn(async move {
            let _permit = permit;
            let given_up = async {
                let _ = left.await;
            };
            let drawing = engine.draw_pdf_page(&key.tenant, pdf, key.number, given_up);
            let drawn = drawing.await;
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

fn busy_error(status: StatusCode, message: impl Into<String>) -> HttpError {
    HttpError::new(status, "previews-busy", message.into()).retry_after(RETRY_SECONDS)
}

fn to_http_error(error: PdfPageError) -> HttpError {
    let (status, code) = match error {
        PdfPageError::Sandbox(error) => return error.into(),
        PdfPageError::Busy { .. } => {
            return busy_error(StatusCode::SERVICE_UNAVAILABLE, error.to_string());
        }
        PdfPageError::NoSuchPage { .. } => (StatusCode::NOT_FOUND, "preview-page-not-found"),
        PdfPageError::NoSandbox { .. } => (StatusCode::SERVICE_UNAVAILABLE, "sandbox-unavailable"),
        PdfPageError::ProgramMissing => (StatusCode::NOT_IMPLEMENTED, "preview-program-missing"),
        _ => (StatusCode::BAD_REQUEST, "preview-not-drawn"),
    };
    // What is missing is still missing when the same request is sent again.
    HttpError::new(status, code, error.to_string()).without_retry()
}
