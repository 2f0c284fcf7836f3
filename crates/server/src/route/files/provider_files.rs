//! Files that a provider's own servers made: asked for where they are, on behalf of the
//! tenant whose answer named them. Nobody else is told that they exist.

use axum::Json;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::header::{CONTENT_DISPOSITION, X_CONTENT_TYPE_OPTIONS};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use prowess_provider::{
    ByteStream, CallError, ClientCredentials as OnBehalf, ProviderFileOperation,
    ProviderFileResponse,
};
use prowess_wire::ClientDialect;
use serde_json::Value;

use crate::app::App;
use crate::auth::Principal;
use crate::context::RequestId;
use crate::dialect::{ApiDialect, IsGoogle};
use crate::error::HttpError;
use crate::render;
use crate::route::gateway::{GatewayError, client_credentials};

/// What is said of a file has no more bytes than this.
const MAX_METADATA_BYTES: usize = 1 << 20;

/// Whoever asks for a file, as a provider is told of them.
pub(in crate::route) struct ProviderFileRequest {
    client: ClientDialect,
    request: RequestId,
    credentials: OnBehalf,
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
    /// The file of this id that a provider keeps for the caller; else what is missing.
    pub(in crate::route) async fn find_file<'a>(
        self,
        app: &'a App,
        principal: &'a Principal,
        id: &'a str,
        missing: impl Into<HttpError>,
    ) -> Result<ProviderFile<'a>, HttpError> {
        match app
            .store()
            .find_file_provider(&principal.tenant, id)
            .await?
        {
            Some(provider) => Ok(ProviderFile {
                request: self,
                app,
                principal,
                id,
                provider,
            }),
            None => Err(missing.into()),
        }
    }
}

/// How OpenAI's clients are told of a file.
#[derive(Clone, Copy)]
pub(in crate::route) enum FileShape<'a> {
    File,
    /// As one in this container.
    InContainer(&'a str),
}

/// A file that a provider keeps for the caller.
pub(in crate::route) struct ProviderFile<'a> {
    request: ProviderFileRequest,
    app: &'a App,
    principal: &'a Principal,
    id: &'a str,
    provider: String,
}

impl ProviderFile<'_> {
    /// What it is.
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

    /// What is in it.
    pub(in crate::route) async fn content(self) -> Result<Response, HttpError> {
        let outcome = self
            .send(ProviderFileOperation::Content)
            .await
            .map(|mut file| {
                // Whatever it holds, a browser shall save it and not run it.
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

    /// Has it deleted there.
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

    /// Whether the provider's words are the client's.
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
            "file `{}` is kept by provider `{}`, which this server has no longer; \
             configure it again to fetch the file",
            self.id, self.provider
        );
        HttpError::new(StatusCode::NOT_FOUND, "file-provider-gone", message)
    }

    /// What the provider says of the file.
    async fn read_metadata(&self, mut body: ByteStream) -> Result<Value, GatewayError> {
        let mut all = Vec::new();
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|error| self.bad_response(error.to_string()))?;
            all.extend_from_slice(&chunk);
            if all.len() > MAX_METADATA_BYTES {
                return Err(
                    self.bad_response(format!("it has more than {MAX_METADATA_BYTES} bytes"))
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

/// Status, headers and bytes as they came.
fn to_response(file: ProviderFileResponse) -> Response {
    let mut response = Response::new(Body::from_stream(file.body));
    *response.status_mut() = file.status;
    *response.headers_mut() = file.headers;
    response
}
