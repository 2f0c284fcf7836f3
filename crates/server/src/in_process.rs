//! Calls of this server's routes from this process, as a principal that was authenticated
//! before: pages are made from them.
//!
//! Nothing that arrives over the network leads here: the principal is an extension of the
//! request, which only [`InProcessApi::call`] sets. Scopes, limits, log and audit log are those
//! of any request.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use prowess_skill::BundleLimits;
use tokio::task::JoinError;

use crate::app::App;
use crate::auth::in_process::InProcessCaller;
use crate::connections::current;
use crate::form::transfers::TransferPermit;
use crate::form::{PageForm, PageFormError};
use crate::http_service::HttpService;
use crate::permitted_work::run_with_permit;
use crate::read_body::{read_body, read_unauthenticated_body};
use crate::request_log::InnerCall;

/// The routes of a server, called in its process. Cheap to clone.
#[derive(Clone)]
pub struct InProcessApi {
    pub(crate) app: App,
    service: HttpService,
}

/// The right to read and check one upload, held until dropped.
pub struct UploadPermit(
    #[expect(dead_code, reason = "kept for as long as the upload")] TransferPermit,
);

impl UploadPermit {
    /// Runs work for a processor on a blocking thread. The permit is held until it ends, also when
    /// the client has left and this future is dropped.
    ///
    /// # Errors
    /// When the work panics, or the server stops.
    pub async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let done = run_with_permit(Arc::clone(self), work).await;
        done.map(|(result, _)| result)
    }
}

/// Why an upload cannot be read now.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UploadsBusyError(String);

impl App {
    /// The routes of this server, for calls in this process.
    pub fn in_process_api(&self) -> InProcessApi {
        InProcessApi {
            app: self.clone(),
            service: self.service(),
        }
    }
}

impl InProcessApi {
    /// Responds to a request of an authenticated caller. Keys and tenants in its headers are
    /// ignored.
    pub fn call(
        &self,
        caller: &InProcessCaller,
        mut request: Request<Body>,
    ) -> BoxFuture<'static, Response> {
        request.extensions_mut().insert(caller.clone());
        request.extensions_mut().insert(InnerCall);
        // Boxed, so that callers do not compile the whole server again.
        Box::pin(self.service.clone().respond(request))
    }

    /// Whether the server has a master key. Without one, anybody on its machine may use it.
    pub fn has_master_key(&self) -> bool {
        self.app.current().settings().master_key.is_some()
    }

    /// Waits for the right to read and check an upload: one of those that uploads to the API
    /// need, so that no tenant keeps another from uploading.
    ///
    /// # Errors
    /// When too many uploads of the caller's tenant wait, or it waited too long.
    pub async fn acquire_upload(
        &self,
        caller: &InProcessCaller,
    ) -> Result<UploadPermit, UploadsBusyError> {
        let app = self.app.current();
        let permit = app.transfers().acquire_skill_upload(caller.tenant_id());
        let permit = permit
            .await
            .map_err(|error| UploadsBusyError(error.message))?;
        Ok(UploadPermit(permit))
    }

    /// Opens a form with files that a caller sends to a page. It must arrive at the minimum rate,
    /// and counts as a body of the caller's tenant, as a form that the API receives.
    ///
    /// # Errors
    /// When the request has no such form.
    pub async fn open_form(
        &self,
        caller: &InProcessCaller,
        request: Request<Body>,
    ) -> Result<PageForm, PageFormError> {
        PageForm::open(&self.app.current(), caller.tenant_id(), request).await
    }

    /// Reads the body of a form without files. One whose sender is not known counts for no tenant.
    ///
    /// # Errors
    /// When it has more than `limit` bytes or is too slow, or there is no memory for it.
    pub async fn read_form(
        &self,
        caller: Option<&InProcessCaller>,
        body: Body,
        limit: usize,
    ) -> Result<Bytes, PageFormError> {
        let app = self.app.current();
        let Some(caller) = caller else {
            return Ok(read_unauthenticated_body(&app, body, limit).await?);
        };
        let body = read_body(&app, caller.tenant_id(), body, limit).await?;
        Ok(body.bytes)
    }

    /// Limits on an uploaded skill.
    pub fn skill_limits(&self) -> BundleLimits {
        self.app.current().settings().skill_limits.clone()
    }

    /// The address of the client that sent the current request; the /64 network of an IPv6
    /// address, whose owner can use all of its addresses.
    pub fn client_network(&self) -> Option<IpAddr> {
        current::network()
    }
}
