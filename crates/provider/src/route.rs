//! Routes: the targets of a model name, tried in order.

use prowess_wire::embeddings::{EmbeddingRequest, read_embedding_request};
use prowess_wire::neutral::Request;

use crate::call::UpstreamReply;
use crate::client_request::ClientRequest;
use crate::count::InputTokenCount;
use crate::credentials::ClientCredentials;
use crate::embed::EmbeddingReply;
use crate::error::CallError;
use crate::pass_through::{ForwardFailure, PassThroughResponse};
use crate::target::Target;
use crate::upstream::ModelTask;

/// What a client's model name resolves to: a model, and its fallbacks.
#[derive(Debug, Clone)]
pub struct Route {
    pub(crate) name: String,
    pub(crate) targets: Vec<Target>,
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
    /// Vectors from an upstream of another API.
    Embedded {
        /// The parsed request.
        request: Box<EmbeddingRequest>,
        /// The vectors.
        reply: Box<EmbeddingReply>,
    },
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

    /// The same with its first model only.
    #[must_use]
    pub fn without_fallbacks(mut self) -> Route {
        self.targets.truncate(1);
        self
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
        let mut failures = Vec::new();
        for target in &self.targets {
            match target.call(request, credentials).await {
                Err(error) if error.allows_fallback() => {
                    failures.push(target.failure(&error));
                    last = Some(self.log_fallback(target, error));
                }
                Err(error) => return Err(error),
                Ok(mut reply) => {
                    failures.append(&mut reply.failures);
                    reply.failures = failures;
                    return Ok(reply);
                }
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

    /// The vectors of some texts, from the first model that responds.
    pub async fn embed(
        &self,
        request: &EmbeddingRequest,
        credentials: &ClientCredentials,
    ) -> Result<EmbeddingReply, CallError> {
        let mut last = None;
        for target in &self.targets {
            match target.embed(request, credentials).await {
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
    /// ([`prowess_wire::has_signature_envelope`]): the upstream would reject it.
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
                Err(refused) => return refused.into_response().map(ForwardOutcome::PassedThrough),
            }
        }
        match last {
            Some(refused) => refused.into_response().map(ForwardOutcome::PassedThrough),
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
        if incoming.task == ModelTask::Embed {
            let request = Box::new(read_embedding_request(incoming.body)?);
            let reply = Box::new(self.embed(&request, credentials).await?);
            return Ok(ForwardOutcome::Embedded { request, reply });
        }
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
