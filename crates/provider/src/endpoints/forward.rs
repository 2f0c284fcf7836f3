//! A request to an endpoint, sent to the targets of its route.

use futures_util::future::BoxFuture;
use prowess_wire::{ClientDialect, Dialect, is_error};

use super::address::endpoint_request;
use super::request::EndpointRequest;
use super::response::{EndpointFailure, EndpointResponse, read_headers};
use crate::call_credentials::CallCredentials;
use crate::credentials::ClientCredentials;
use crate::deployments::plan::RoutePlan;
use crate::deployments::shape::RequestShape;
use crate::error::CallError;
use crate::http::{ByteStream, IdleTimeoutBody, headers};
use crate::key::SecretText;
use crate::pass_through::client_headers;
use crate::provider::{HttpBackend, ProviderBackend};
use crate::route::Route;
use crate::target::Target;

impl Route {
    /// Passes a request on to an endpoint of the first model that responds. An upstream's error
    /// response is passed on like any other, unless there is another model to try.
    ///
    /// # Errors
    /// When no model has such an endpoint, or none could be called. A request whose body is
    /// still arriving is sent once.
    pub fn forward_endpoint<'a>(
        &'a self,
        mut request: EndpointRequest,
        credentials: &'a ClientCredentials,
    ) -> BoxFuture<'a, Result<EndpointResponse, CallError>> {
        Box::pin(async move {
            if let Some(plan) = &self.plan {
                return self
                    .forward_endpoint_planned(plan, request, credentials)
                    .await;
            }
            let mut last: Option<EndpointFailure> = None;
            for target in self.callable(credentials) {
                let own = self.credentials_for(target, credentials);
                match target.forward_endpoint(&mut request, own).await {
                    Ok(mut response) => {
                        let before = last.as_ref().map(|failure| &failure.error);
                        response.decision = self.fallback_decision(target, credentials, before);
                        return Ok(response);
                    }
                    Err(failure) if failure.error.allows_fallback() && request.can_be_sent() => {
                        last = Some(failure);
                    }
                    Err(failure) => return failure.into_response(),
                }
            }
            match last {
                Some(failure) => failure.into_response(),
                None => Err(self.no_targets_error()),
            }
        })
    }

    /// The same for a route with several deployments.
    async fn forward_endpoint_planned(
        &self,
        plan: &RoutePlan,
        mut request: EndpointRequest,
        credentials: &ClientCredentials,
    ) -> Result<EndpointResponse, CallError> {
        let mut walk = self.walk(plan, RequestShape::default(), credentials);
        let mut last = None;
        while let Some(target) = walk.next().await {
            let own = self.credentials_for(target, credentials);
            match target.forward_endpoint(&mut request, own).await {
                Ok(mut response) => {
                    response.decision = walk.answered();
                    return Ok(response);
                }
                Err(failure) if walk.failed(&failure.error) && request.can_be_sent() => {
                    last = Some(failure);
                }
                Err(failure) => return failure.into_response(),
            }
        }
        match last {
            Some(failure) => failure.into_response(),
            None => Err(walk.refusal()),
        }
    }
}

impl Target {
    /// Sends a request to an endpoint of this model, after waiting for a permit.
    async fn forward_endpoint(
        &self,
        request: &mut EndpointRequest,
        credentials: CallCredentials<'_>,
    ) -> Result<EndpointResponse, EndpointFailure> {
        let ProviderBackend::Http(http) = &self.provider.backend else {
            return Err(self.no_endpoint_error().into());
        };
        let permit = self.slot.acquire(credentials.owner).await?;
        let key = http.key_for(credentials, &self.provider.name).await?;
        let mut tries = self.retries(http);
        loop {
            let mut refusal = None;
            let breaker_permit = self.slot.breaker.acquire()?;
            let breaker_permit = breaker_permit.with_client_key(http.uses_client_key(credentials));
            let sent = self.attempt(http, request, credentials, key.as_ref(), &mut refusal);
            let outcome = sent.await;
            breaker_permit.record_outcome(&outcome);
            let error = match outcome {
                Ok(response) => {
                    let body = response.body.with_permit(permit);
                    return Ok(EndpointResponse { body, ..response });
                }
                Err(error) => error,
            };
            let failed = |error| EndpointFailure {
                error,
                response: refusal,
            };
            match request.can_be_sent() {
                false => return Err(failed(error)),
                true => tries.wait_before_retry(error).await.map_err(failed)?,
            }
        }
    }

    async fn attempt(
        &self,
        http: &HttpBackend,
        request: &mut EndpointRequest,
        credentials: CallCredentials<'_>,
        key: Option<&SecretText>,
        refusal: &mut Option<Box<EndpointResponse>>,
    ) -> Result<EndpointResponse, CallError> {
        let headers = client_headers(credentials, http.uses_client_key(credentials));
        let addressed = endpoint_request(http, request.endpoint, &self.model, headers, key);
        let addressed = addressed.ok_or_else(|| self.no_endpoint_error())?;
        let mut outgoing = self.provider.prepare_request(http, addressed)?;
        outgoing.body = request.body.for_model(Some(&self.model));
        let response = http.client.send(outgoing).await?;
        let status = response.status;
        if status.is_success() {
            let headers = headers::for_client(response.headers);
            let body = IdleTimeoutBody::new(response.body, http.client.timeouts().idle);
            let body = ByteStream::new(body, &self.provider.name);
            return Ok(self.to_response(status, headers, body));
        }
        let headers = response.headers.clone();
        let refused = self
            .provider
            .read_error_response(http, Dialect::Chat, response, key);
        let (error, body) = Box::pin(refused).await?;
        // An error that the client would not understand is translated instead.
        if is_error(ClientDialect::Chat, &body) {
            let headers = read_headers(headers, body.len());
            let body = ByteStream::from_bytes(body);
            *refusal = Some(Box::new(self.to_response(status, headers, body)));
        }
        Err(error)
    }

    fn to_response(
        &self,
        status: http::StatusCode,
        headers: http::HeaderMap,
        body: ByteStream,
    ) -> EndpointResponse {
        EndpointResponse {
            provider: self.provider.name.clone(),
            provider_kind: self.kind(),
            model: self.model.clone(),
            price: self.price().cloned(),
            status,
            headers,
            body,
            decision: None,
        }
    }

    fn no_endpoint_error(&self) -> CallError {
        CallError::Unsupported {
            provider: self.provider.name.clone(),
            what: "serve this endpoint; use a model of OpenAI, Azure or a compatible server, or \
                   the provider's own API below /providers",
        }
    }
}
