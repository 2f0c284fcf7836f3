//! Files created on a provider's servers: fetched from there for the tenant whose response
//! named them. For anyone else they do not exist.

use axum::Json;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::header::{CONTENT_DISPOSITION, X_CONTENT_TYPE_OPTIONS};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use prowess_provider::{
    ByteStream, CallError, ClientCredentials, ProviderFileOperation, ProviderFileResponse,
};
use prowess_wire::ClientDialect;
use serde_json::Value;

use crate::app::App;
use crate::auth::Principal;
use crate::dialect::{ApiDialect, IsGoogle};
use crate::error::HttpError;
use crate::render;
use crate::request_id::RequestId;
use crate::route::gateway::{GatewayError, client_credentials};

/// Maximum bytes of a file's metadata.
const MAX_METADATA_BYTES: usize = 1 << 20;

/// What a request to the provider needs: client dialect, request id and credentials.
pub(in crate::route) struct ProviderFileRequest {
    client: ClientDialect,
    request: RequestId,
    credentials: ClientCredentials,
}

impl<S: Sync> FromRequestParts<S> for ProviderFileRequest {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let IsGoogle(is_google) = IsGoogle::from_request_parts(parts, state).await?;
        let client = match ApiDialect::from_request_parts(parts, state).await? {
            _ if is_google => ClientDialect::Gemini,
            ApiDialect::Anthropic(_) => ClientDialect::Messages,
            ApiDialect::OpenAi => ClientDialect::Chat,
        };
        Ok(ProviderFileRequest {
            client,
            request: parts.extensions.get().copied().unwrap_or_default(),
            credentials: client_credentials(parts.headers.clone()),
        })
    }
}

impl ProviderFileRequest {
    /// The file of this id that a provider stores for the tenant; else `missing`.
    pub(in crate::route) async fn find_file<'a>(
        mut self,
        app: &'a App,
        principal: &'a Principal,
        id: &'a str,
        missing: impl Into<HttpError>,
    ) -> Result<ProviderFile<'a>, HttpError> {
        let account = app.store().find_file_account(&principal.tenant, id).await?;
        let Some(account) = account else {
            return Err(missing.into());
        };
        // A key that the client sends is meant for the provider of its model. This may be another
        // one, of a fallback.
        if !account.client_key {
            self.credentials.key = None;
        }
        Ok(ProviderFile {
            request: self,
            app,
            principal,
            id,
            provider: account.provider,
        })
    }
}

/// The format of a file for OpenAI's clients.
#[derive(Clone, Copy)]
pub(in crate::route) enum FileShape<'a> {
    File,
    /// As a file of this container.
    InContainer(&'a str),
}

/// A file that a provider stores for the tenant.
pub(in crate::route) struct ProviderFile<'a> {
    request: ProviderFileRequest,
    app: &'a App,
    principal: &'a Principal,
    id: &'a str,
    provider: String,
}

impl ProviderFile<'_> {
    /// Its metadata.
    pub(in crate::route) async fn metadata(
        self,
        shape: FileShape<'_>,
    ) -> Result<Response, HttpError> {
        let outcome = async {
            let file = self.send(ProviderFileOperation::Metadata).await?;
            if self.passes_through(shape) {
                return Ok(to_response(file));
            }
            let file = self.read_metadata(file.body).await?;
            Ok(Json(match shape {
                FileShape::File => render::openai::provider_file(self.id, &file),
                FileShape::InContainer(id) => {
                    render::openai::provider_container_file(id, self.id, &file)
                }
            })
            .into_response())
        };
        self.render_failure(outcome.await)
    }

    /// Its content.
    pub(in crate::route) async fn content(self) -> Result<Response, HttpError> {
        let outcome = self
            .send(ProviderFileOperation::Content)
            .await
            .map(|mut file| {
                // Browsers must save it and not execute it.
                let attachment = HeaderValue::from_static("attachment");
                file.headers
                    .entry(CONTENT_DISPOSITION)
                    .or_insert(attachment);
                let nosniff = HeaderValue::from_static("nosniff");
                file.headers.insert(X_CONTENT_TYPE_OPTIONS, nosniff);
                to_response(file)
            });
        self.render_failure(outcome)
    }

    /// Deletes it at the provider.
    pub(in crate::route) async fn delete(
        self,
        shape: FileShape<'_>,
    ) -> Result<Response, HttpError> {
        let outcome = async {
            let file = self.send(ProviderFileOperation::Delete).await?;
            if file.status.is_success() {
                let (store, tenant) = (self.app.store(), &self.principal.tenant);
                let forgotten = store.forget_provider_file(tenant, self.id).await;
                forgotten.map_err(HttpError::from)?;
            }
            if self.passes_through(shape) {
                return Ok(to_response(file));
            }
            Ok(Json(match shape {
                FileShape::File => render::openai::deleted(self.id, "file"),
                FileShape::InContainer(_) => {
                    render::openai::deleted(self.id, "container.file.deleted")
                }
            })
            .into_response())
        };
        self.render_failure(outcome.await)
    }

    /// Whether the provider's response is in the client's dialect.
    fn passes_through(&self, shape: FileShape<'_>) -> bool {
        self.request.client == ClientDialect::Messages && matches!(shape, FileShape::File)
    }

    async fn send(
        &self,
        operation: ProviderFileOperation,
    ) -> Result<ProviderFileResponse, GatewayError> {
        let Some(providers) = &self.app.settings().providers else {
            return Err(self.provider_gone_error().into());
        };
        let ProviderFileRequest {
            client,
            credentials,
            ..
        } = &self.request;
        let call = providers.request_file(&self.provider, operation, self.id, *client, credentials);
        match call.await {
            Err(CallError::Route(_)) => Err(self.provider_gone_error().into()),
            response => Ok(response?),
        }
    }

    fn provider_gone_error(&self) -> HttpError {
        let message = format!(
            "file `{}` is stored by provider `{}`, which is no longer configured; configure it \
            again to fetch the file",
            self.id, self.provider
        );
        HttpError::new(StatusCode::NOT_FOUND, "file-provider-gone", message)
    }

    /// Reads the metadata.
    async fn read_metadata(&self, mut body: ByteStream) -> Result<Value, GatewayError> {
        let mut all = Vec::new();
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|error| self.bad_response(error.to_string()))?;
            all.extend_from_slice(&chunk);
            if all.len() > MAX_METADATA_BYTES {
                return Err(
                    self.bad_response(format!("file metadata exceeds {MAX_METADATA_BYTES} bytes"))
                );
            }
        }
        serde_json::from_slice(&all).map_err(|error| self.bad_response(error.to_string()))
    }

    fn bad_response(&self, reason: String) -> GatewayError {
        let provider = self.provider.clone();
        CallError::MalformedResponse { provider, reason }.into()
    }

    fn render_failure(
        &self,
        outcome: Result<Response, GatewayError>,
    ) -> Result<Response, HttpError> {
        let ProviderFileRequest {
            client, request, ..
        } = &self.request;
        outcome.or_else(|failure| failure.render(*client, *request))
    }
}

/// Status, headers and bytes unchanged.
fn to_response(file: ProviderFileResponse) -> Response {
    let mut response = Response::new(Body::from_stream(file.body));
    *response.status_mut() = file.status;
    *response.headers_mut() = file.headers;
    response
}
