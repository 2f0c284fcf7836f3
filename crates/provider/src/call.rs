//! A translated call: a neutral request in, a neutral response out.

use bytes::Bytes;
use http::HeaderMap;
use prowess_wire::neutral::{ApiError, Request, Response, ResponseCollector, StreamEvent, replay};
use prowess_wire::{Dialect, Dropped, ReadContext, WireError, read_response, write_request};

use crate::call_credentials::CallCredentials;
use crate::config::Price;
use crate::deployments::RouteDecision;
use crate::error::CallError;
use crate::events::EventStream;
use crate::http::{HttpResponse, IdleTimeoutBody, headers, read_all};
use crate::key::SecretText;
use crate::provider::{HttpBackend, ProviderBackend};
use crate::target::Target;
use crate::upstream::{BodyOrigin, ModelTask, UpstreamJob};

/// Maximum size of a response that is not a stream.
const MAX_RESPONSE_BYTES: usize = 64 << 20;
/// A response and where it came from.
#[derive(Debug)]
pub struct UpstreamReply {
    /// The provider that responded.
    pub provider: String,
    /// The model that responded, as the provider calls it.
    pub model: String,
    /// The price of its tokens, if it is configured or known.
    pub price: Option<Price>,
    /// The parts of the request that the provider's dialect cannot express.
    pub dropped: Vec<Dropped>,
    /// Calls that failed before it: retries of this model, and models before it in the route.
    pub failures: Vec<CallFailure>,
    /// Why this model answered, if there was a choice.
    pub decision: Option<Box<RouteDecision>>,
    /// The response.
    pub output: ModelOutput,
}

/// A call that failed, and was made again with the same or the next model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    /// The provider that failed.
    pub provider: String,
    /// The model that failed, as the provider calls it.
    pub model: String,
    /// What it answered, or why it did not.
    pub message: String,
}

/// A neutral response.
#[derive(Debug)]
pub enum ModelOutput {
    /// Complete, to a request without streaming.
    Response(Box<Response>),
    /// An event stream, to a streaming request.
    Stream(EventStream),
}

impl Target {
    /// Calls this model, after waiting for a permit.
    pub(crate) async fn call(
        &self,
        request: &Request,
        credentials: CallCredentials<'_>,
    ) -> Result<UpstreamReply, CallError> {
        let permit = self.slot.acquire(credentials.owner).await?;
        let mut failures = Vec::new();
        let (mut output, dropped) = match &self.provider.backend {
            ProviderBackend::Http(http) => {
                self.call_upstream(http, request, credentials, &mut failures)
                    .await?
            }
            ProviderBackend::Scripted(script) => {
                // One of several deployments cools down like any other; alone, a model follows
                // its script.
                let breaker_permit = match self.slot.has_siblings {
                    true => Some(self.slot.breaker.acquire()?),
                    false => None,
                };
                let outcome = self.call_script(script, request).await;
                if let Some(breaker_permit) = breaker_permit {
                    breaker_permit.record_outcome(&outcome);
                }
                (outcome?, Vec::new())
            }
        };
        if let (ModelOutput::Stream(events), Some(permit)) = (&mut output, permit) {
            events.hold_permit(permit);
        }
        Ok(UpstreamReply {
            provider: self.provider.name.clone(),
            model: self.model.clone(),
            price: self.price().cloned(),
            dropped,
            failures,
            decision: None,
            output,
        })
    }

    /// A call of this model that failed.
    pub(crate) fn failure(&self, error: &CallError) -> CallFailure {
        CallFailure {
            provider: self.provider.name.clone(),
            model: self.model.clone(),
            message: error.to_api_error().message,
        }
    }

    async fn call_upstream(
        &self,
        http: &HttpBackend,
        request: &Request,
        credentials: CallCredentials<'_>,
        failures: &mut Vec<CallFailure>,
    ) -> Result<(ModelOutput, Vec<Dropped>), CallError> {
        let collects = !request.stream && http.upstream.streams_only(request.max_tokens);
        let streamed = collects.then(|| {
            let mut streamed = request.clone();
            streamed.stream = true;
            streamed
        });
        let request = streamed.as_ref().unwrap_or(request);
        let dialect = http.upstream.dialect(self.api_name(http), request.origin);
        let options = self.options_for(http, dialect, request);
        let mut outgoing = write_request(dialect, request, &options)?;
        if let Some(model) = outgoing.body.get_mut("model") {
            *model = self.model.as_str().into();
        }
        for dropped in &outgoing.dropped {
            tracing::debug!(
                field = dropped.field,
                why = dropped.why,
                "dropped a field that the upstream does not support"
            );
        }
        outgoing.context.model.clone_from(&self.model);
        let call = UpstreamCall {
            target: self,
            http,
            dialect,
            stream: request.stream,
            collects,
            body: Bytes::from(outgoing.body.to_string()),
            headers: translated_headers(request, dialect, credentials),
            context: outgoing.context.with_id(new_message_id()),
            key: http.key_for(credentials, &self.provider.name).await?,
            is_client_key: http.uses_client_key(credentials),
        };
        Ok((call.call_with_retries(failures).await?, outgoing.dropped))
    }
}

/// One call to an upstream, which can be attempted several times.
struct UpstreamCall<'a> {
    target: &'a Target,
    http: &'a HttpBackend,
    dialect: Dialect,
    stream: bool,
    /// Whether the client does not stream, so that the stream becomes a complete response.
    collects: bool,
    body: Bytes,
    headers: HeaderMap,
    context: ReadContext,
    key: Option<SecretText>,
    /// Whether that is the client's own.
    is_client_key: bool,
}

impl UpstreamCall<'_> {
    async fn call_with_retries(
        &self,
        failures: &mut Vec<CallFailure>,
    ) -> Result<ModelOutput, CallError> {
        let mut tries = self.target.retries(self.http);
        loop {
            let breaker_permit = self.target.slot.breaker.acquire()?;
            let breaker_permit = breaker_permit.with_client_key(self.is_client_key);
            let outcome = self.attempt().await;
            breaker_permit.record_outcome(&outcome);
            match outcome {
                Ok(answer) => return Ok(answer),
                Err(error) => {
                    let failure = self.target.failure(&error);
                    tries.wait_before_retry(error).await?;
                    failures.push(failure);
                }
            }
        }
    }

    async fn attempt(&self) -> Result<ModelOutput, CallError> {
        let job = UpstreamJob {
            task: ModelTask::Generate,
            dialect: self.dialect,
            model: &self.target.model,
            stream: self.stream,
            body: self.body.clone(),
            headers: self.headers.clone(),
            body_origin: BodyOrigin::Gateway,
        };
        let key = self.key.as_ref();
        let sent = self.target.send(self.http, job, key, self.is_client_key);
        let http_response = sent.await?;
        if !http_response.status.is_success() {
            let (error, _) = self
                .target
                .provider
                .read_error_response(self.http, self.dialect, http_response, self.key.as_ref())
                .await?;
            return Err(error);
        }
        // Some servers ignore the request to stream.
        let is_json = http_response
            .headers
            .get("content-type")
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        if self.stream && !is_json {
            return self.read_stream(http_response).await;
        }
        let response = self.read_complete(http_response).await?;
        if self.stream && !self.collects {
            let events = replay(response);
            return Ok(ModelOutput::Stream(EventStream::from_events(events)));
        }
        Ok(ModelOutput::Response(Box::new(response)))
    }

    /// Waits for the first event: until then the whole call can still fail and be
    /// retried.
    async fn read_stream(&self, response: HttpResponse) -> Result<ModelOutput, CallError> {
        let provider = &self.target.provider.name;
        let idle = self.http.client.timeouts().idle;
        let reader = self
            .http
            .upstream
            .reader(self.dialect, self.context.clone());
        let body = IdleTimeoutBody::new(response.body, idle);
        let mut events = EventStream::from_upstream(body, reader, provider, self.key.clone());
        if let Some(StreamEvent::Error(error)) = events.peek_first().await {
            return Err(self.reported_error(error.clone(), &response.headers));
        }
        if self.collects {
            return self.collect(events, &response.headers).await;
        }
        Ok(ModelOutput::Stream(events))
    }

    /// Reads a stream to its end.
    async fn collect(
        &self,
        mut events: EventStream,
        headers: &HeaderMap,
    ) -> Result<ModelOutput, CallError> {
        let mut collector = ResponseCollector::new(self.dialect);
        while let Some(event) = events.next().await {
            let pushed = collector.push(event);
            pushed.map_err(|error| self.reported_error(error, headers))?;
        }
        let response = collector.finish();
        let response = response.map_err(|error| self.reported_error(error, headers))?;
        Ok(ModelOutput::Response(Box::new(response)))
    }

    async fn read_complete(&self, response: HttpResponse) -> Result<Response, CallError> {
        let provider = &self.target.provider.name;
        let mut body = IdleTimeoutBody::new(response.body, self.http.client.timeouts().idle);
        let bytes = read_all(&mut body, MAX_RESPONSE_BYTES)
            .await
            .map_err(|error| error.to_call_error(provider))?
            .ok_or_else(|| CallError::ResponseTooLarge {
                provider: provider.clone(),
                limit: MAX_RESPONSE_BYTES,
            })?;
        read_response(self.dialect, &bytes, &self.context).map_err(|error| match error {
            // Gateways, and servers that began to answer, report failures with a success status.
            WireError::UpstreamFailed(error) => self.reported_error(*error, &response.headers),
            error => CallError::MalformedResponse {
                provider: provider.clone(),
                reason: error.to_string(),
            },
        })
    }

    fn reported_error(&self, error: ApiError, headers: &HeaderMap) -> CallError {
        let provider = &self.target.provider;
        provider.reported_error(error, headers, self.key.as_ref())
    }
}

/// The headers of a request whose dialect is not the client's.
pub(crate) fn translated_headers(
    request: &Request,
    dialect: Dialect,
    credentials: CallCredentials<'_>,
) -> HeaderMap {
    let mut headers = headers::default_headers(request.stream);
    let betas = dialect == Dialect::Messages && request.origin == Dialect::Messages;
    let names = ["traceparent", "tracestate", "anthropic-beta"];
    for name in names.iter().take(if betas { 3 } else { 2 }) {
        for value in credentials.headers.get_all(*name) {
            headers.append(*name, value.clone());
        }
    }
    headers
}

/// A message id, for upstreams that send none.
pub(crate) fn new_message_id() -> String {
    let letters = std::iter::repeat_with(fastrand::alphanumeric).take(24);
    format!("msg_{}", letters.collect::<String>())
}
