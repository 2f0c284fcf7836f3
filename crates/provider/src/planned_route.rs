//! The calls of a route that has several deployments, or fallbacks for some kinds of failure
//! only. Which target is next is the task of `deployments`.

use prowess_wire::embeddings::EmbeddingRequest;
use prowess_wire::neutral::Request;

use crate::call::UpstreamReply;
use crate::call_credentials::CallCredentials;
use crate::client_request::ClientRequest;
use crate::count::InputTokenCount;
use crate::credentials::ClientCredentials;
use crate::deployments::plan::RoutePlan;
use crate::deployments::shape::RequestShape;
use crate::deployments::walk::Walk;
use crate::embed::EmbeddingReply;
use crate::error::CallError;
use crate::pass_through::ForwardFailure;
use crate::route::{ForwardOutcome, Route};
use crate::target::Target;

impl Route {
    pub(crate) async fn call_planned(
        &self,
        plan: &RoutePlan,
        request: &Request,
        credentials: &ClientCredentials,
    ) -> Result<UpstreamReply, CallError> {
        let shape = RequestShape::of_request(plan, request);
        let mut walk = self.walk(plan, shape, credentials);
        let mut last = None;
        let mut failures = Vec::new();
        while let Some(target) = walk.next().await {
            let own = self.credentials_for(target, credentials);
            match target.call(request, own).await {
                Ok(mut reply) => {
                    failures.append(&mut reply.failures);
                    reply.failures = failures;
                    reply.decision = walk.answered();
                    return Ok(reply);
                }
                Err(error) if walk.failed(&error) => {
                    failures.push(target.failure(&error));
                    last = Some(self.log_fallback(target, error));
                }
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| walk.refusal()))
    }

    /// A count is a request without tokens to the limits of a deployment.
    pub(crate) async fn count_planned(
        &self,
        plan: &RoutePlan,
        request: &Request,
        credentials: &ClientCredentials,
    ) -> Result<InputTokenCount, CallError> {
        let mut walk = self.walk(plan, RequestShape::default(), credentials);
        let mut last = None;
        while let Some(target) = walk.next().await {
            let own = self.credentials_for(target, credentials);
            match target.count(request, own).await {
                Err(error) if walk.failed(&error) => {
                    last = Some(self.log_fallback(target, error));
                }
                outcome => return outcome,
            }
        }
        Err(last.unwrap_or_else(|| walk.refusal()))
    }

    pub(crate) async fn embed_planned(
        &self,
        plan: &RoutePlan,
        request: &EmbeddingRequest,
        credentials: &ClientCredentials,
    ) -> Result<EmbeddingReply, CallError> {
        let shape = RequestShape {
            tokens: request.estimate_tokens(),
            ..RequestShape::default()
        };
        let mut walk = self.walk(plan, shape, credentials);
        let mut last = None;
        while let Some(target) = walk.next().await {
            let own = self.credentials_for(target, credentials);
            match target.embed(request, own).await {
                Ok(mut reply) => {
                    reply.decision = walk.answered();
                    return Ok(reply);
                }
                Err(error) if walk.failed(&error) => {
                    last = Some(self.log_fallback(target, error));
                }
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| walk.refusal()))
    }

    pub(crate) async fn forward_planned(
        &self,
        plan: &RoutePlan,
        incoming: ClientRequest<'_>,
        credentials: &ClientCredentials,
    ) -> Result<ForwardOutcome, CallError> {
        let shape = RequestShape::of_client_request(plan, &incoming);
        let mut walk = self.walk(plan, shape, credentials);
        let passes = incoming.can_pass_through();
        let mut last: Option<ForwardFailure> = None;
        while let Some(target) = walk.next().await {
            let own = self.credentials_for(target, credentials);
            let has_alternative = walk.has_alternative();
            match forward_to(target, incoming, passes, own, has_alternative).await {
                Ok(mut answer) => {
                    answer.set_decision(walk.answered());
                    if let ForwardOutcome::PassedThrough(passed) = &answer
                        && let Some(id) = &passed.stored_id
                    {
                        walk.note_stored_response(id);
                    }
                    return Ok(answer);
                }
                Err(refused) if walk.failed(&refused.error) => {
                    let error = self.log_fallback(target, refused.error);
                    last = Some(ForwardFailure { error, ..refused });
                }
                Err(refused) => return refused.into_response().map(ForwardOutcome::PassedThrough),
            }
        }
        match last {
            Some(refused) => refused.into_response().map(ForwardOutcome::PassedThrough),
            None => Err(walk.refusal()),
        }
    }

    /// A way through the targets that can be called with these credentials.
    pub(crate) fn walk<'r>(
        &'r self,
        plan: &'r RoutePlan,
        shape: RequestShape,
        credentials: &ClientCredentials,
    ) -> Walk<'r> {
        let shape = RequestShape {
            owner: self.owner,
            ..shape
        };
        let is_passed_over = |target: &Target| self.passes_over(target, credentials);
        Walk::new(&self.name, &self.targets, plan, shape, is_passed_over)
    }
}

async fn forward_to(
    target: &Target,
    incoming: ClientRequest<'_>,
    passes: bool,
    credentials: CallCredentials<'_>,
    has_alternative: bool,
) -> Result<ForwardOutcome, ForwardFailure> {
    if passes && target.supports_pass_through(incoming.client, incoming.task) {
        let passed = target.pass_through(incoming, credentials, has_alternative);
        return Ok(ForwardOutcome::PassedThrough(Box::new(passed.await?)));
    }
    let called = Box::pin(target.call_translated(incoming, credentials)).await;
    called.map_err(ForwardFailure::from)
}
