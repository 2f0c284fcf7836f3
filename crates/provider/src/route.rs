//! Routes: the targets of a model name, tried in order.

use std::sync::Arc;

use bytes::Bytes;
use prowess_wire::neutral::Request;
use prowess_wire::raw::RawObject;
use prowess_wire::{
    ClientDialect, WireError, check_complete, has_signature_envelope, read_request,
};

use crate::call::{ClientCredentials, UpstreamReply};
use crate::config::Price;
use crate::count::InputTokenCount;
use crate::error::CallError;
use crate::model_slot::ModelSlot;
use crate::pass_through::{ForwardFailure, PassThroughResponse};
use crate::provider::{Provider, ProviderBackend};
use crate::upstream::ModelTask;

/// What a client's model name resolves to: a model, and its fallbacks.
#[derive(Debug, Clone)]
pub struct Route {
    pub(crate) name: String,
    pub(crate) targets: Vec<Target>,
}

/// A model of a provider.
#[derive(Debug, Clone)]
pub struct Target {
    pub(crate) provider: Arc<Provider>,
    pub(crate) slot: Arc<ModelSlot>,
    pub(crate) model: String,
}

/// A client's request, unchanged.
#[derive(Debug, Clone, Copy)]
pub struct ClientRequest<'a> {
    /// The client's dialect.
    pub client: ClientDialect,
    /// The requested operation.
    pub task: ModelTask,
    /// The body.
    pub body: &'a Bytes,
    /// The same body with its fields located; must be parsed from `body`.
    pub raw: &'a RawObject<'a>,
    /// The model name that the client sent.
    pub model: &'a str,
    /// Whether it requests a stream.
    pub stream: bool,
    /// Whether a Gemini client requests the stream as one JSON array instead of events.
    pub json_array: bool,
}

impl ClientRequest<'_> {
    /// Whether its bytes mean the same to an upstream of the client's dialect. A request
    /// to compact a conversation cannot be translated.
    fn can_pass_through(&self) -> bool {
        self.task == ModelTask::Compact || !has_signature_envelope(self.client, self.body)
    }

    /// The request in neutral form.
    ///
    /// # Errors
    /// When it cannot be parsed, or requests a response without the fields that the
    /// client's vendor requires for one.
    pub fn to_neutral(&self) -> Result<Request, WireError> {
        let mut request = read_request(self.client, self.body)?;
        if self.task == ModelTask::Generate {
            check_complete(self.client, self.raw, &request)?;
        }
        // There the path carries what the body does elsewhere.
        if self.client == ClientDialect::Gemini {
            self.model.clone_into(&mut request.model);
            request.stream = self.stream;
        }
        Ok(request)
    }
}

/// The outcome of a forwarded request.
#[derive(Debug)]
pub enum ForwardOutcome {
    /// From an upstream of the client's dialect: bytes to pass on unchanged.
    PassedThrough(Box<PassThroughResponse>),
    /// From an upstream of another dialect: a response to write in the client's dialect.
    Translated {
        /// The parsed request.
        request: Box<Request>,
        /// The response.
        reply: Box<UpstreamReply>,
    },
    /// A token count from an upstream of another dialect.
    TokenCount(InputTokenCount),
}

impl Target {
    /// The provider's name.
    pub fn provider(&self) -> &str {
        &self.provider.name
    }

    /// The provider's name for the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The kind of provider, as configuration files name it.
    pub fn kind(&self) -> &'static str {
        self.provider.kind
    }

    /// Whether the provider's servers create and store files.
    pub fn has_file_storage(&self) -> bool {
        self.provider.has_file_storage()
    }

    /// Whether it is OpenAI itself, and not a compatible server.
    pub fn is_openai(&self) -> bool {
        match &self.provider.backend {
            ProviderBackend::Http(http) => http.upstream.is_openai(),
            ProviderBackend::Scripted(_) => false,
        }
    }

    /// The price of its tokens, if configured.
    pub fn price(&self) -> Option<&Price> {
        self.slot.price.as_ref()
    }

    /// Whether a client's bytes can be passed on unchanged.
    pub fn supports_pass_through(&self, client: ClientDialect, task: ModelTask) -> bool {
        match &self.provider.backend {
            ProviderBackend::Http(http) => {
                http.upstream
                    .supports_pass_through(client, task, &self.model)
            }
            ProviderBackend::Scripted(_) => false,
        }
    }
}

impl Route {
    /// The model name that the client sent.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The models, in the order they are tried.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Calls the first model that responds. The model in the request is ignored.
    ///
    /// Dropping the future, or the stream it returns, cancels the upstream's work.
    pub async fn call(
        &self,
        request: &Request,
        credentials: &ClientCredentials,
    ) -> Result<UpstreamReply, CallError> {
        let mut last = None;
        for target in &self.targets {
            match target.call(request, credentials).await {
                Err(error) if error.allows_fallback() => {
                    last = Some(self.log_fallback(target, error));
                }
                outcome => return outcome,
            }
        }
        Err(last.unwrap_or_else(|| self.no_targets_error()))
    }

    /// Counts the tokens of a request, with the first model that can.
    pub async fn count(
        &self,
        request: &Request,
        credentials: &ClientCredentials,
    ) -> Result<InputTokenCount, CallError> {
        let mut last = None;
        for target in &self.targets {
            match target.count(request, credentials).await {
                Err(error) if error.allows_fallback() => {
                    last = Some(self.log_fallback(target, error));
                }
                outcome => return outcome,
            }
        }
        Err(last.unwrap_or_else(|| self.no_targets_error()))
    }

    /// Forwards a client's request to the first model that responds: byte for byte, except
    /// for model name and credentials, if the upstream uses the client's dialect, otherwise
    /// translated. A request that carries another vendor's state is translated as well
    /// ([`has_signature_envelope`]): the upstream would reject it.
    ///
    /// All client headers are passed on except its credentials, those about its connection,
    /// and, unless it sends its own key, those that select an account
    /// (`openai-organization`, `openai-project`, `anthropic-workspace-id`).
    ///
    /// An upstream's error response is passed on like any other, unless there is another
    /// model to try.
    pub async fn forward(
        &self,
        incoming: ClientRequest<'_>,
        credentials: &ClientCredentials,
    ) -> Result<ForwardOutcome, CallError> {
        let mut last: Option<ForwardFailure> = None;
        let passes = incoming.can_pass_through();
        for target in &self.targets {
            let outcome = if target.supports_pass_through(incoming.client, incoming.task) && passes
            {
                let passed = target.pass_through(incoming, credentials).await;
                passed.map(Box::new).map(ForwardOutcome::PassedThrough)
            } else {
                // Boxed, as a pass-through call needs no space for a translation.
                let called = Box::pin(target.call_translated(incoming, credentials)).await;
                called.map_err(ForwardFailure::from)
            };
            match outcome {
                Ok(answer) => return Ok(answer),
                Err(refused) if refused.error.allows_fallback() => {
                    let error = self.log_fallback(target, refused.error);
                    last = Some(ForwardFailure { error, ..refused });
                }
                Err(refused) => return refused.into_outcome(),
            }
        }
        match last {
            Some(refused) => refused.into_outcome(),
            None => Err(self.no_targets_error()),
        }
    }

    fn log_fallback(&self, target: &Target, error: CallError) -> CallError {
        if self.targets.len() > 1 {
            tracing::warn!(
                route = self.name,
                provider = target.provider(),
                model = target.model,
                %error,
                "a model of the route failed"
            );
        }
        error
    }

    fn no_targets_error(&self) -> CallError {
        CallError::Unsupported {
            provider: self.name.clone(),
            what: "respond: the route has no models",
        }
    }
}

impl Target {
    async fn call_translated(
        &self,
        incoming: ClientRequest<'_>,
        credentials: &ClientCredentials,
    ) -> Result<ForwardOutcome, CallError> {
        let request = Box::new(incoming.to_neutral()?);
        if incoming.task == ModelTask::CountTokens {
            return self
                .count(&request, credentials)
                .await
                .map(ForwardOutcome::TokenCount);
        }
        let reply = Box::new(self.call(&request, credentials).await?);
        Ok(ForwardOutcome::Translated { request, reply })
    }
}
