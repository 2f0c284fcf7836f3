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
use prowess_provider::{ByteStream, CallError, Caller as OnBehalf, FileAsk, HeldFile};
use prowess_wire::Client;
use serde_json::Value;

use crate::app::App;
use crate::auth::Caller;
use crate::context::RequestId;
use crate::dialect::{Dialect, IsGoogle};
use crate::error::ApiError;
use crate::render;
use crate::route::gateway::{Failure, on_behalf};

/// What is said of a file has no more bytes than this.
const MOST: usize = 1 << 20;

/// Whoever asks for a file, as a provider is told of them.
pub(in crate::route) struct Visitor {
    client: Client,
    request: RequestId,
    on_behalf: OnBehalf,
}

impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let IsGoogle(is_google) = IsGoogle::from_request_parts(parts, state).await?;
        let client = match Dialect::from_request_parts(parts, state).await? {
            _ if is_google => Client::Gemini,
            Dialect::Anthropic(_) => Client::Messages,
            Dialect::OpenAi => Client::Chat,
        };
        Ok(Visitor {
            client,
            request: parts.extensions.get().copied().unwrap_or_default(),
            on_behalf: on_behalf(parts.headers.clone()),
        })
    }
}

impl Visitor {
    /// The file of this id that a provider keeps for the caller; else what is missing.
    pub(in crate::route) async fn seek<'a>(
        self,
        app: &'a App,
        caller: &'a Caller,
        id: &'a str,
        missing: impl Into<ApiError>,
    ) -> Result<Foreign<'a>, ApiError> {
        match app.store().foreign_file(&caller.tenant, id).await? {
            Some(provider) => Ok(Foreign {
                visitor: self,
                app,
                caller,
                id,
                provider,
            }),
            None => Err(missing.into()),
        }
    }
}

/// How OpenAI's clients are told of a file.
#[derive(Clone, Copy)]
pub(in crate::route) enum Shape<'a> {
    File,
    /// As one in this container.
    InContainer(&'a str),
}

/// A file that a provider keeps for the caller.
pub(in crate::route) struct Foreign<'a> {
    visitor: Visitor,
    app: &'a App,
    caller: &'a Caller,
    id: &'a str,
    provider: String,
}

impl Foreign<'_> {
    /// What it is.
    pub(in crate::route) async fn about(self, shape: Shape<'_>) -> Result<Response, ApiError> {
        let told = async {
            let file = self.ask(FileAsk::About).await?;
            if self.speaks_for_itself(shape) {
                return Ok(passed(file));
            }
            let file = self.read(file.body).await?;
            Ok(Json(match shape {
                Shape::File => render::openai::foreign_file(self.id, &file),
                Shape::InContainer(id) => {
                    render::openai::foreign_container_file(id, self.id, &file)
                }
            })
            .into_response())
        };
        self.told(told.await)
    }

    /// What is in it.
    pub(in crate::route) async fn content(self) -> Result<Response, ApiError> {
        let told = self.ask(FileAsk::Content).await.map(|mut file| {
            // Whatever it holds, a browser shall save it and not run it.
            let attachment = HeaderValue::from_static("attachment");
            file.headers
                .entry(CONTENT_DISPOSITION)
                .or_insert(attachment);
            let nosniff = HeaderValue::from_static("nosniff");
            file.headers.insert(X_CONTENT_TYPE_OPTIONS, nosniff);
            passed(file)
        });
        self.told(told)
    }

    /// Has it deleted there.
    pub(in crate::route) async fn delete(self, shape: Shape<'_>) -> Result<Response, ApiError> {
        let told = async {
            let file = self.ask(FileAsk::Delete).await?;
            if file.status.is_success() {
                let (store, tenant) = (self.app.store(), &self.caller.tenant);
                let forgotten = store.forget_foreign_file(tenant, self.id).await;
                forgotten.map_err(ApiError::from)?;
            }
            if self.speaks_for_itself(shape) {
                return Ok(passed(file));
            }
            Ok(Json(match shape {
                Shape::File => render::openai::deleted(self.id, "file"),
                Shape::InContainer(_) => render::openai::deleted(self.id, "container.file.deleted"),
            })
            .into_response())
        };
        self.told(told.await)
    }

    /// Whether the provider's words are the client's.
    fn speaks_for_itself(&self, shape: Shape<'_>) -> bool {
        self.visitor.client == Client::Messages && matches!(shape, Shape::File)
    }

    async fn ask(&self, ask: FileAsk) -> Result<HeldFile, Failure> {
        let Some(providers) = &self.app.settings().providers else {
            return Err(self.gone().into());
        };
        let Visitor {
            client, on_behalf, ..
        } = &self.visitor;
        let asked = providers.file(&self.provider, ask, self.id, *client, on_behalf);
        match asked.await {
            Err(CallError::Route(_)) => Err(self.gone().into()),
            answer => Ok(answer?),
        }
    }

    fn gone(&self) -> ApiError {
        let message = format!(
            "file `{}` is kept by provider `{}`, which this server has no longer; \
             configure it again to fetch the file",
            self.id, self.provider
        );
        ApiError::new(StatusCode::NOT_FOUND, "file-provider-gone", message)
    }

    /// What the provider says of the file.
    async fn read(&self, mut body: ByteStream) -> Result<Value, Failure> {
        let mut all = Vec::new();
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|error| self.bad(error.to_string()))?;
            all.extend_from_slice(&piece);
            if all.len() > MOST {
                return Err(self.bad(format!("it has more than {MOST} bytes")));
            }
        }
        serde_json::from_slice(&all).map_err(|error| self.bad(error.to_string()))
    }

    fn bad(&self, reason: String) -> Failure {
        let provider = self.provider.clone();
        CallError::BadAnswer { provider, reason }.into()
    }

    fn told(&self, outcome: Result<Response, Failure>) -> Result<Response, ApiError> {
        let Visitor {
            client, request, ..
        } = &self.visitor;
        outcome.or_else(|failure| failure.tell(*client, *request))
    }
}

/// Status, headers and bytes as they came.
fn passed(file: HeldFile) -> Response {
    let mut response = Response::new(Body::from_stream(file.body));
    *response.status_mut() = file.status;
    *response.headers_mut() = file.headers;
    response
}
