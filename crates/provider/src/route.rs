//! From a name to an answer: the targets in order, and the turning to the next.

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

/// What a client's model name means: a model, and others to turn to when it fails.
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

/// A client's request as it came.
#[derive(Debug, Clone, Copy)]
pub struct ClientRequest<'a> {
    /// What the client speaks.
    pub client: ClientDialect,
    /// What it wants.
    pub task: ModelTask,
    /// The body.
    pub body: &'a Bytes,
    /// The same body with its fields found; must be parsed from `body`.
    pub raw: &'a RawObject<'a>,
    /// The model, as the client named it.
    pub model: &'a str,
    /// Whether it wants a stream.
    pub stream: bool,
    /// Whether a Gemini client wants the stream as one JSON array, and no events.
    pub json_array: bool,
}

impl ClientRequest<'_> {
    /// Whether its bytes mean to an upstream of the client's dialect what they mean here.
    /// There is no translation of what is to be compacted.
    fn can_pass_through(&self) -> bool {
        self.task == ModelTask::Compact || !has_signature_envelope(self.client, self.body)
    }

    /// The request in no dialect.
    ///
    /// # Errors
    /// When it cannot be understood, or wants an answer and leaves out what the client's
    /// vendor demands for one.
    pub fn to_neutral(&self) -> Result<Request, WireError> {
        let mut request = read_request(self.client, self.body)?;
        if self.task == ModelTask::Generate {
            check_complete(self.client, self.raw, &request)?;
        }
        // There the path says what elsewhere the body does.
        if self.client == ClientDialect::Gemini {
            self.model.clone_into(&mut request.model);
            request.stream = self.stream;
        }
        Ok(request)
    }
}

/// How a client's request was answered.
#[derive(Debug)]
pub enum ForwardOutcome {
    /// By an upstream of the client's own dialect: bytes to be passed on as they are.
    PassedThrough(Box<PassThroughResponse>),
    /// By one of another dialect: an answer to be written in the client's.
    Translated {
        /// The request, as it was understood.
        request: Box<Request>,
        /// The answer.
        reply: Box<UpstreamReply>,
    },
    /// A question for the number of tokens, by one of another dialect.
    TokenCount(InputTokenCount),
}

impl Target {
    /// The provider's name.
    pub fn provider(&self) -> &str {
        &self.provider.name
    }

    /// What the provider is told the model is called.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The kind of provider, in the word of configuration files.
    pub fn kind(&self) -> &'static str {
        self.provider.kind
    }

    /// Whether the provider's own servers make files, and keep them.
    pub fn has_file_storage(&self) -> bool {
        self.provider.has_file_storage()
    }

    /// Whether it is OpenAI itself, and not a server that is compatible with it.
    pub fn is_openai(&self) -> bool {
        match &self.provider.backend {
            ProviderBackend::Http(http) => http.upstream.is_openai(),
            ProviderBackend::Scripted(_) => false,
        }
    }

    /// What its tokens cost, where that is configured.
    pub fn price(&self) -> Option<&Price> {
        self.slot.price.as_ref()
    }

    /// Whether a client's bytes can be passed on as they are.
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
    /// The name the client used.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The models, in the order they are tried.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Calls the first model that answers. The model in the request is not looked at.
    ///
    /// Dropping the future, or the stream it gives, ends the upstream's work.
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

    /// Counts the tokens of a request for the first model that can be asked.
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

    /// Forwards a client's request to the first model that answers: byte for byte, but
    /// for model name and auth, where the upstream speaks the client's dialect, else
    /// translated. Translated is also what another vendor's model gave the client before
    /// ([`has_sealed_state`]): the upstream would refuse it.
    ///
    /// Of the client's headers all travel on but its credentials, those about its
    /// connection, and, unless it calls with a key of its own, those that choose an
    /// account (`openai-organization`, `openai-project`, `anthropic-workspace-id`).
    ///
    /// An upstream's error answer is passed on like any other, unless there is another
    /// model to turn to.
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
                // Bytes that are only passed on need no room for a translation.
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
                "the model failed"
            );
        }
        error
    }

    fn no_targets_error(&self) -> CallError {
        CallError::Unsupported {
            provider: self.name.clone(),
            what: "answer: it has no models",
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
