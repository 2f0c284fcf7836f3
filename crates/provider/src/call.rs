//! A translated call: a neutral request in, a neutral response out.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use prowess_wire::neutral::{Request, Response, StreamEvent, replay};
use prowess_wire::{
    Dialect, Dropped, ReadContext, WriteOptions, read_error, read_response, write_request,
};

use crate::config::Price;
use crate::error::CallError;
use crate::events::EventStream;
use crate::http::{
    HttpRequest, HttpResponse, IdleTimeoutBody, headers, read_all, retry_after, should_retry,
};
use crate::key::{KeyError, SecretText};
use crate::provider::{HttpBackend, Provider, ProviderBackend};
use crate::retry::RetryState;
use crate::route::Target;
use crate::upstream::{BodyOrigin, ModelTask, UpstreamJob};

/// Maximum size of a response that is not a stream.
const MAX_RESPONSE_BYTES: usize = 64 << 20;
/// Maximum size of an error body that is read.
pub(crate) const MAX_ERROR_BYTES: usize = 1 << 20;

/// The client's own key and headers, sent with its calls.
#[derive(Debug, Clone, Default)]
pub struct ClientCredentials {
    /// The client's own key for the provider; used only where the provider allows it.
    pub key: Option<SecretText>,
    /// The headers of the client's request. Passed on when the dialect stays the same; a
    /// translated request only carries `anthropic-beta` and the trace headers.
    pub headers: HeaderMap,
}

impl ClientCredentials {
    /// Adds Anthropic beta features to those that the client names.
    pub fn add_betas(&mut self, betas: &'static str) {
        let betas = HeaderValue::from_static(betas);
        self.headers.append("anthropic-beta", betas);
    }
}

/// A response and where it came from.
#[derive(Debug)]
pub struct UpstreamReply {
    /// The provider that responded.
    pub provider: String,
    /// The model that responded, as the provider calls it.
    pub model: String,
    /// The price of its tokens, if configured.
    pub price: Option<Price>,
    /// The parts of the request that the provider's dialect cannot express.
    pub dropped: Vec<Dropped>,
    /// The response.
    pub output: ModelOutput,
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
        credentials: &ClientCredentials,
    ) -> Result<UpstreamReply, CallError> {
        let permit = self.slot.acquire().await?;
        let (mut output, dropped) = match &self.provider.backend {
            ProviderBackend::Http(http) => self.call_upstream(http, request, credentials).await?,
            ProviderBackend::Scripted(script) => {
                (self.call_script(script, request).await?, Vec::new())
            }
        };
        if let (ModelOutput::Stream(events), Some(permit)) = (&mut output, permit) {
            events.hold_permit(permit);
        }
        Ok(UpstreamReply {
            provider: self.provider.name.clone(),
            model: self.model.clone(),
            price: self.slot.price.clone(),
            dropped,
            output,
        })
    }

    async fn call_upstream(
        &self,
        http: &HttpBackend,
        request: &Request,
        credentials: &ClientCredentials,
    ) -> Result<(ModelOutput, Vec<Dropped>), CallError> {
        let dialect = http.upstream.dialect(&self.model, request.origin);
        let mut outgoing = write_request(dialect, request, &self.write_options(http))?;
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
            body: Bytes::from(outgoing.body.to_string()),
            headers: translated_headers(request, dialect, credentials),
            context: outgoing.context.with_id(new_message_id()),
            key: http.key_for(credentials, &self.provider.name).await?,
        };
        Ok((call.call_with_retries().await?, outgoing.dropped))
    }
}

impl Target {
    /// What the model supports: derived from its name and server, then overridden by its
    /// entry.
    pub(crate) fn write_options(&self, http: &HttpBackend) -> WriteOptions {
        let known = http.upstream.write_options(&self.model);
        self.slot.write_overrides.apply(known)
    }
}

/// One call to an upstream, which can be attempted several times.
struct UpstreamCall<'a> {
    target: &'a Target,
    http: &'a HttpBackend,
    dialect: Dialect,
    stream: bool,
    body: Bytes,
    headers: HeaderMap,
    context: ReadContext,
    key: Option<SecretText>,
}

impl UpstreamCall<'_> {
    async fn call_with_retries(&self) -> Result<ModelOutput, CallError> {
        let mut tries = RetryState::new(&self.http.retry);
        loop {
            let breaker_permit = self.target.slot.breaker.acquire()?;
            let outcome = self.attempt().await;
            breaker_permit.record_outcome(&outcome);
            match outcome {
                Ok(answer) => return Ok(answer),
                Err(error) => tries.wait_before_retry(error).await?,
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
        let http_response = self.target.send(self.http, job, self.key.as_ref()).await?;
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
        if self.stream {
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
        match events.peek_first().await {
            Some(StreamEvent::Error(error)) => Err(CallError::Upstream {
                provider: provider.clone(),
                error: Box::new(error.clone()),
                retry_after: None,
                should_retry: None,
            }),
            _ => Ok(ModelOutput::Stream(events)),
        }
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
        read_response(self.dialect, &bytes, &self.context).map_err(|error| {
            CallError::MalformedResponse {
                provider: provider.clone(),
                reason: error.to_string(),
            }
        })
    }
}

impl Target {
    /// Sends a request once.
    pub(crate) async fn send(
        &self,
        http: &HttpBackend,
        job: UpstreamJob<'_>,
        key: Option<&SecretText>,
    ) -> Result<HttpResponse, CallError> {
        let request = self
            .provider
            .prepare_request(http, http.upstream.request(job, key))?;
        http.client.send(request).await
    }
}

impl Provider {
    /// Adds the headers that every request to this provider carries.
    pub(crate) fn prepare_request(
        &self,
        http: &HttpBackend,
        request: Result<HttpRequest, KeyError>,
    ) -> Result<HttpRequest, CallError> {
        let mut request = request.map_err(|error| CallError::Key {
            provider: self.name.clone(),
            error,
        })?;
        http.add_headers(&mut request.headers);
        Ok(request)
    }

    /// Reads an error response: the error and its body, both with the key redacted.
    pub(crate) async fn read_error_response(
        &self,
        http: &HttpBackend,
        dialect: Dialect,
        response: HttpResponse,
        key: Option<&SecretText>,
    ) -> Result<(CallError, Bytes), CallError> {
        let mut body = IdleTimeoutBody::new(response.body, http.client.timeouts().idle);
        let bytes = read_all(&mut body, MAX_ERROR_BYTES)
            .await
            .map_err(|error| error.to_call_error(&self.name))?
            .ok_or_else(|| CallError::ResponseTooLarge {
                provider: self.name.clone(),
                limit: MAX_ERROR_BYTES,
            })?;
        let bytes = redact_key(bytes, key);
        let mut error = read_error(dialect, response.status.as_u16(), &bytes);
        if error.request_id.is_none() {
            error.request_id = request_id(&response.headers);
        }
        let error = CallError::Upstream {
            provider: self.name.clone(),
            error: Box::new(error),
            retry_after: retry_after(&response.headers, std::time::SystemTime::now()),
            should_retry: should_retry(&response.headers),
        };
        Ok((error, bytes))
    }
}

/// Some servers repeat the key in the error that rejects it.
fn redact_key(bytes: Vec<u8>, key: Option<&SecretText>) -> Bytes {
    match (key, String::from_utf8(bytes)) {
        (Some(key), Ok(text)) => key.redact(text).into(),
        (None, Ok(text)) => text.into(),
        (_, Err(error)) => error.into_bytes().into(),
    }
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    ["request-id", "x-request-id", "x-amzn-requestid"]
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok())
        .map(str::to_owned)
}

/// The headers of a request whose dialect is not the client's.
pub(crate) fn translated_headers(
    request: &Request,
    dialect: Dialect,
    credentials: &ClientCredentials,
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
