//! Routes: the targets of a model name, tried in order. Where there is a choice, the order is
//! that of `planned_route`.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use prowess_wire::embeddings::{EmbeddingRequest, read_embedding_request};
use prowess_wire::excerpt;
use prowess_wire::neutral::Request;

use crate::call::UpstreamReply;
use crate::call_credentials::CallCredentials;
use crate::client_request::ClientRequest;
use crate::count::InputTokenCount;
use crate::credentials::ClientCredentials;
use crate::deployments::conversation_key::hash_owner;
use crate::deployments::plan::RoutePlan;
use crate::deployments::{FailureCode, RouteDecision, RouteReason};
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
    /// How a target is chosen; `None` if they are tried in their order.
    pub(crate) plan: Option<Arc<RoutePlan>>,
    /// Stands for the tenant whose requests it is used for; 0 if that is not known.
    pub(crate) owner: u64,
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

impl ForwardOutcome {
    /// Why this model answered, if there was a choice.
    pub fn decision(&self) -> Option<&RouteDecision> {
        match self {
            ForwardOutcome::PassedThrough(passed) => passed.decision.as_deref(),
            ForwardOutcome::Translated { reply, .. } => reply.decision.as_deref(),
            ForwardOutcome::Embedded { reply, .. } => reply.decision.as_deref(),
            ForwardOutcome::TokenCount(_) => None,
        }
    }

    /// Takes it, for the client's header.
    pub fn take_decision(&mut self) -> Option<Box<RouteDecision>> {
        match self {
            ForwardOutcome::PassedThrough(passed) => passed.decision.take(),
            ForwardOutcome::Translated { reply, .. } => reply.decision.take(),
            ForwardOutcome::Embedded { reply, .. } => reply.decision.take(),
            ForwardOutcome::TokenCount(_) => None,
        }
    }

    pub(crate) fn set_decision(&mut self, decision: Option<Box<RouteDecision>>) {
        match self {
            ForwardOutcome::PassedThrough(passed) => passed.decision = decision,
            ForwardOutcome::Translated { reply, .. } => reply.decision = decision,
            ForwardOutcome::Embedded { reply, .. } => reply.decision = decision,
            ForwardOutcome::TokenCount(_) => {}
        }
    }
}

impl Route {
    /// The model name that the client sent.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The models that may be called: all deployments, then all fallbacks. Without several
    /// deployments, and without fallbacks for special failures, they are tried in this order.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Says whose requests the route is used for: the deployments that conversations prefer are
    /// remembered per owner, each within its share, and owners take turns where calls wait for one
    /// another.
    pub fn set_owner(&mut self, owner: &str) {
        let has_limit = |target: &Target| target.slot.limiter.is_some();
        // Most routes have nothing that asks for it.
        if self.plan.is_some() || self.targets.iter().any(has_limit) {
            self.owner = hash_owner(owner);
        }
    }

    /// The same with its first model only, and with one deployment of it.
    #[must_use]
    pub fn without_fallbacks(mut self) -> Route {
        self.targets.truncate(1);
        self.plan = None;
        self
    }

    /// Calls the first model that responds. The model in the request is ignored.
    ///
    /// Dropping the future, or the stream it returns, cancels the upstream's work.
    pub fn call<'a>(
        &'a self,
        request: &'a Request,
        credentials: &'a ClientCredentials,
    ) -> BoxFuture<'a, Result<UpstreamReply, CallError>> {
        Box::pin(async move {
            if let Some(plan) = &self.plan {
                return Box::pin(self.call_planned(plan, request, credentials)).await;
            }
            let mut last = None;
            let mut failures = Vec::new();
            for target in self.callable(credentials) {
                let own = self.credentials_for(target, credentials);
                match target.call(request, own).await {
                    Err(error) if error.allows_fallback() => {
                        failures.push(target.failure(&error));
                        last = Some(self.log_fallback(target, error));
                    }
                    Err(error) => return Err(error),
                    Ok(mut reply) => {
                        reply.decision = self.fallback_decision(target, credentials, last.as_ref());
                        failures.append(&mut reply.failures);
                        reply.failures = failures;
                        return Ok(reply);
                    }
                }
            }
            Err(last.unwrap_or_else(|| self.no_targets_error()))
        })
    }

    /// Counts the tokens of a request, with the first model that can.
    pub fn count<'a>(
        &'a self,
        request: &'a Request,
        credentials: &'a ClientCredentials,
    ) -> BoxFuture<'a, Result<InputTokenCount, CallError>> {
        Box::pin(async move {
            if let Some(plan) = &self.plan {
                return Box::pin(self.count_planned(plan, request, credentials)).await;
            }
            let mut last = None;
            for target in self.callable(credentials) {
                let own = self.credentials_for(target, credentials);
                match target.count(request, own).await {
                    Err(error) if error.allows_fallback() => {
                        last = Some(self.log_fallback(target, error));
                    }
                    outcome => return outcome,
                }
            }
            Err(last.unwrap_or_else(|| self.no_targets_error()))
        })
    }

    /// The vectors of some texts, from the first model that responds.
    pub fn embed<'a>(
        &'a self,
        request: &'a EmbeddingRequest,
        credentials: &'a ClientCredentials,
    ) -> BoxFuture<'a, Result<EmbeddingReply, CallError>> {
        Box::pin(async move {
            if let Some(plan) = &self.plan {
                return Box::pin(self.embed_planned(plan, request, credentials)).await;
            }
            let mut last = None;
            for target in self.callable(credentials) {
                let own = self.credentials_for(target, credentials);
                match target.embed(request, own).await {
                    Err(error) if error.allows_fallback() => {
                        last = Some(self.log_fallback(target, error));
                    }
                    outcome => return outcome,
                }
            }
            Err(last.unwrap_or_else(|| self.no_targets_error()))
        })
    }

    /// Forwards a client's request to the first model that responds: byte for byte, except
    /// for model name and credentials, if the upstream uses the client's dialect, otherwise
    /// translated. A request that carries another vendor's state is translated as well
    /// ([`prowess_wire::has_signature_envelope`]): the upstream would reject it.
    ///
    /// All client headers are passed on except its credentials, those about its connection,
    /// those of its browser and of proxies on the way (`origin`, `x-forwarded-for`), and, unless
    /// it sends its own key for the upstream, those that select an account (`openai-organization`,
    /// `openai-project`, `anthropic-workspace-id`) or are keys by their names (`…-api-key`).
    ///
    /// An upstream's error response is passed on like any other, unless there is another
    /// model to try.
    pub fn forward<'a>(
        &'a self,
        incoming: ClientRequest<'a>,
        credentials: &'a ClientCredentials,
    ) -> BoxFuture<'a, Result<ForwardOutcome, CallError>> {
        Box::pin(async move {
            if let Some(plan) = &self.plan {
                return Box::pin(self.forward_planned(plan, incoming, credentials)).await;
            }
            let mut last: Option<ForwardFailure> = None;
            let passes = incoming.can_pass_through();
            let mut targets = self.callable(credentials).peekable();
            while let Some(target) = targets.next() {
                let own = self.credentials_for(target, credentials);
                let outcome =
                    if target.supports_pass_through(incoming.client, incoming.task) && passes {
                        let has_alternative = targets.peek().is_some();
                        let passed = target.pass_through(incoming, own, has_alternative).await;
                        passed.map(Box::new).map(ForwardOutcome::PassedThrough)
                    } else {
                        // Boxed, as a pass-through call needs no space for a translation.
                        let called = Box::pin(target.call_translated(incoming, own)).await;
                        called.map_err(ForwardFailure::from)
                    };
                match outcome {
                    Ok(mut answer) => {
                        if let Some(failed) = &last {
                            let failed = Some(&failed.error);
                            answer.set_decision(self.fallback_decision(
                                target,
                                credentials,
                                failed,
                            ));
                        }
                        return Ok(answer);
                    }
                    Err(refused) if refused.error.allows_fallback() => {
                        let error = self.log_fallback(target, refused.error);
                        last = Some(ForwardFailure { error, ..refused });
                    }
                    Err(refused) => {
                        return refused.into_response().map(ForwardOutcome::PassedThrough);
                    }
                }
            }
            match last {
                Some(refused) => refused.into_response().map(ForwardOutcome::PassedThrough),
                None => Err(self.no_targets_error()),
            }
        })
    }

    /// Why a fallback answered; `None` if nothing failed before it.
    pub(crate) fn fallback_decision(
        &self,
        target: &Target,
        credentials: &ClientCredentials,
        failed: Option<&CallError>,
    ) -> Option<Box<RouteDecision>> {
        let code = FailureCode::from_error(failed?);
        let mut targets = self.callable(credentials);
        let place = targets.position(|other| std::ptr::eq(other, target))?;
        Some(Box::new(RouteDecision {
            route: self.name.clone(),
            provider: target.provider().to_owned(),
            model: target.model().to_owned(),
            attempt: u32::try_from(place + 1).unwrap_or(u32::MAX),
            reason: RouteReason::Fallback(code),
            without_key: self.count_passed_over(credentials),
        }))
    }

    pub(crate) fn log_fallback(&self, target: &Target, error: CallError) -> CallError {
        if self.targets.len() > 1 {
            tracing::warn!(
                route = self.name,
                provider = target.provider(),
                model = target.model,
                code = error.code(),
                // An upstream's text may be long, and quote the request.
                error = %excerpt(&error.to_string()),
                "a model of the route failed"
            );
        }
        error
    }

    pub(crate) fn no_targets_error(&self) -> CallError {
        CallError::Unsupported {
            provider: self.name.clone(),
            what: "respond: the route has no models",
        }
    }
}

impl Target {
    pub(crate) async fn call_translated(
        &self,
        incoming: ClientRequest<'_>,
        credentials: CallCredentials<'_>,
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
