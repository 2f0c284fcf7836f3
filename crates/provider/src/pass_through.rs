//! A call in the client's own dialect: bytes in, bytes out, unchanged except for the
//! model name and the credentials.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use prowess_wire::neutral::TokenUsage;
use prowess_wire::raw::{Edit, RawObject};
use prowess_wire::{
    ClientDialect, add_price_details, is_error, raw, read_counts_or_total, token_counts_key,
};

use crate::call_credentials::CallCredentials;
use crate::client_request::ClientRequest;
use crate::config::Price;
use crate::deployments::RouteDecision;
use crate::error::CallError;
use crate::http::{ByteStream, HttpResponse, IdleTimeoutBody, headers, read_ahead};
use crate::key::SecretText;
use crate::limiter::CallPermit;
use crate::provider::{HttpBackend, ProviderBackend};
use crate::stream_start::read_stream_start;
use crate::target::Target;
use crate::upstream::{BodyOrigin, ModelTask, UpstreamJob};

/// How much of a response that is not a stream is read before the client gets any of it.
const READ_AHEAD_BYTES: usize = 1 << 20;

/// An upstream's response, unchanged.
#[derive(Debug)]
pub struct PassThroughResponse {
    /// The provider that responded.
    pub provider: String,
    /// The model that was called, as the provider calls it.
    pub model: String,
    /// The price of its tokens, if it is configured or known.
    pub price: Option<Price>,
    /// Whether it was called with the client's own key.
    pub client_key: bool,
    /// The status.
    pub status: StatusCode,
    /// The headers, without those about the connection.
    pub headers: HeaderMap,
    /// The token usage, of a response that is not a stream and was read completely.
    pub usage: Option<TokenUsage>,
    /// Why this model answered, if there was a choice.
    pub decision: Option<Box<RouteDecision>>,
    /// The id of a response that one of several deployments stores, as JSON.
    pub(crate) stored_id: Option<Box<str>>,
    /// The body.
    pub body: ByteStream,
}

/// A failed call: the error to decide on, and the response to pass on.
#[derive(Debug)]
pub(crate) struct ForwardFailure {
    pub(crate) error: CallError,
    pub(crate) response: Option<Box<PassThroughResponse>>,
}

impl From<CallError> for ForwardFailure {
    fn from(error: CallError) -> Self {
        ForwardFailure {
            error,
            response: None,
        }
    }
}

impl ForwardFailure {
    /// The result for the client: the upstream's own response, if there was one.
    pub(crate) fn into_response(self) -> Result<Box<PassThroughResponse>, CallError> {
        self.response.ok_or(self.error)
    }
}

impl Target {
    /// Passes a request on to this model, after waiting for a permit. `has_alternative` says
    /// whether the route may call another target if this one fails.
    pub(crate) async fn pass_through(
        &self,
        incoming: ClientRequest<'_>,
        credentials: CallCredentials<'_>,
        has_alternative: bool,
    ) -> Result<PassThroughResponse, ForwardFailure> {
        let ProviderBackend::Http(http) = &self.provider.backend else {
            let unsupported = CallError::Unsupported {
                provider: self.provider.name.clone(),
                what: "accept requests unchanged",
            };
            return Err(unsupported.into());
        };
        let permit = self.slot.acquire(credentials.owner).await?;
        let call = PassThroughCall {
            target: self,
            http,
            incoming,
            body: self.rewrite_body(incoming),
            credentials,
            key: http.key_for(credentials, &self.provider.name).await?,
            has_alternative,
        };
        call.call_with_retries(permit).await
    }

    /// The client's body with the upstream's model name in it.
    fn rewrite_body(&self, incoming: ClientRequest<'_>) -> Bytes {
        if incoming.client == ClientDialect::Gemini {
            return gemini_body(&incoming, &self.model);
        }
        if incoming.raw.is_str("model", &self.model) {
            return incoming.body.clone();
        }
        incoming.raw.with_str("model", &self.model).into()
    }
}

/// A Gemini client's body. The path names the model; a model in the body, or in a nested
/// request to be counted, is replaced as well.
fn gemini_body(incoming: &ClientRequest<'_>, model: &str) -> Bytes {
    const COUNT_REQUEST_KEY: &str = "generateContentRequest";
    let name = format!("models/{model}");
    let named = |raw: &RawObject<'_>| raw.get("model").is_some();
    if named(incoming.raw) {
        return incoming.raw.with_str("model", &name).into();
    }
    let nested_json = incoming.raw.get_camel_or_snake(COUNT_REQUEST_KEY);
    let nested = nested_json.and_then(|json| RawObject::parse(json.as_bytes()).ok());
    match nested.filter(named) {
        Some(nested) if incoming.task == ModelTask::CountTokens => {
            let renamed = nested.with_str("model", &name);
            let renamed = String::from_utf8_lossy(&renamed).into_owned();
            let key = [COUNT_REQUEST_KEY, "generate_content_request"]
                .into_iter()
                .find(|key| incoming.raw.get(key).is_some())
                .unwrap_or(COUNT_REQUEST_KEY);
            incoming.raw.with_edits(&[Edit::Set(key, &renamed)]).into()
        }
        _ => incoming.body.clone(),
    }
}

/// The client's headers that are meant for the upstream.
pub(crate) fn client_headers(credentials: CallCredentials<'_>, uses_client_key: bool) -> HeaderMap {
    let mut headers = headers::for_upstream(credentials.headers, uses_client_key);
    headers
        .entry(header::CONTENT_TYPE)
        .or_insert(HeaderValue::from_static("application/json"));
    headers
}

/// One request to pass on, which can be attempted several times.
struct PassThroughCall<'a> {
    target: &'a Target,
    http: &'a HttpBackend,
    incoming: ClientRequest<'a>,
    body: Bytes,
    credentials: CallCredentials<'a>,
    key: Option<SecretText>,
    has_alternative: bool,
}

impl PassThroughCall<'_> {
    fn uses_client_key(&self) -> bool {
        self.http.uses_client_key(self.credentials)
    }

    async fn call_with_retries(
        &self,
        permit: Option<CallPermit>,
    ) -> Result<PassThroughResponse, ForwardFailure> {
        let mut tries = self.target.retries(self.http);
        loop {
            let mut refusal = None;
            let breaker_permit = self.target.slot.breaker.acquire()?;
            let breaker_permit = breaker_permit.with_client_key(self.uses_client_key());
            let outcome = self.attempt(&mut refusal).await;
            breaker_permit.record_outcome(&outcome);
            match outcome {
                Ok(passed) => {
                    let body = passed.body.with_permit(permit);
                    return Ok(PassThroughResponse { body, ..passed });
                }
                Err(error) => {
                    tries
                        .wait_before_retry(error)
                        .await
                        .map_err(|error| ForwardFailure {
                            error,
                            response: refusal,
                        })?
                }
            }
        }
    }

    async fn attempt(
        &self,
        refusal: &mut Option<Box<PassThroughResponse>>,
    ) -> Result<PassThroughResponse, CallError> {
        let job = UpstreamJob {
            task: self.incoming.task,
            dialect: self.incoming.client.into(),
            model: &self.target.model,
            stream: self.incoming.stream,
            body: self.body.clone(),
            headers: client_headers(self.credentials, self.uses_client_key()),
            body_origin: BodyOrigin::Client {
                json_array: self.incoming.json_array,
            },
        };
        let dialect = job.dialect;
        let key = self.key.as_ref();
        let sent = self
            .target
            .send(self.http, job, key, self.uses_client_key());
        let response = sent.await?;
        if response.status.is_success() {
            return self.start_response(response, refusal).await;
        }
        let (status, headers) = (response.status, response.headers.clone());
        let provider = &self.target.provider;
        let error_response = provider.read_error_response(self.http, dialect, response, key);
        let (error, body) = Box::pin(error_response).await?;
        // An error that the client would not understand is translated instead.
        if is_error(self.incoming.client, &body) {
            let mut headers = headers::for_client(headers);
            headers.insert(header::CONTENT_LENGTH, body.len().into());
            let body = ByteStream::from_bytes(body);
            *refusal = Some(Box::new(self.to_response(status, headers, body)));
        }
        Err(error)
    }

    /// A stream is passed on as it arrives; if another target may follow, its first event is read
    /// before. Not for another attempt at the same target: clients would get the head of every
    /// stream later for that. Of any other response the start, usually all of it, is read first:
    /// as long as the client has received nothing, an error can still replace a response that
    /// ends early or is not JSON.
    async fn start_response(
        &self,
        response: HttpResponse,
        refusal: &mut Option<Box<PassThroughResponse>>,
    ) -> Result<PassThroughResponse, CallError> {
        let provider = &self.target.provider.name;
        let timeouts = self.http.client.timeouts();
        let mut body = IdleTimeoutBody::new(response.body, timeouts.idle);
        let (mut usage, mut stored_id) = (None, None);
        let is_event_stream = headers::is_event_stream(&response.headers);
        let body = if self.has_alternative && is_event_stream {
            let client = self.incoming.client;
            let start = read_stream_start(client, &mut body, timeouts.response);
            // Boxed, as other responses need no space for it.
            let start = Box::pin(start).await;
            let start = start.map_err(|error| error.to_call_error(provider))?;
            let body = ByteStream::with_prefix(start.bytes, body, provider);
            if let Some(error) = start.error {
                let key = self.key.as_ref();
                let target = &self.target.provider;
                let error = target.reported_error(*error, &response.headers, key);
                let headers = headers::for_client(response.headers);
                *refusal = Some(Box::new(self.to_response(response.status, headers, body)));
                return Err(error);
            }
            body
        } else if is_event_stream || (self.incoming.stream && self.incoming.json_array) {
            ByteStream::new(body, provider)
        } else {
            let read = read_ahead(&mut body, READ_AHEAD_BYTES).await;
            let (start, all) = read.map_err(|error| error.to_call_error(provider))?;
            if all {
                usage = self.read_usage(&start)?;
                stored_id = self.read_stored_id(&start);
                ByteStream::from_bytes(start)
            } else {
                ByteStream::with_prefix(start, body, provider)
            }
        };
        let headers = headers::for_client(response.headers);
        let passed = self.to_response(response.status, headers, body);
        Ok(PassThroughResponse {
            usage,
            stored_id,
            ..passed
        })
    }

    /// The id of a response that its provider stores. Only a choice among deployments needs it.
    fn read_stored_id(&self, body: &[u8]) -> Option<Box<str>> {
        if !self.target.slot.has_siblings || self.incoming.client != ClientDialect::Responses {
            return None;
        }
        raw::field(body, "id").ok()?.map(Box::from)
    }

    /// What a response used, which must be JSON.
    fn read_usage(&self, body: &[u8]) -> Result<Option<TokenUsage>, CallError> {
        match raw::field(body, token_counts_key(self.incoming.client)) {
            Ok(usage) => {
                let client = self.incoming.client;
                let mut usage =
                    usage.and_then(|usage| read_counts_or_total(client, usage.as_bytes()));
                if let Some(usage) = &mut usage {
                    add_price_details(client, body, usage);
                }
                Ok(usage)
            }
            Err(error) => Err(CallError::MalformedResponse {
                provider: self.target.provider.name.clone(),
                reason: error.to_string(),
            }),
        }
    }

    fn to_response(
        &self,
        status: StatusCode,
        headers: HeaderMap,
        body: ByteStream,
    ) -> PassThroughResponse {
        PassThroughResponse {
            provider: self.target.provider.name.clone(),
            model: self.target.model.clone(),
            price: self.target.price().cloned(),
            client_key: self.uses_client_key(),
            status,
            headers,
            usage: None,
            decision: None,
            stored_id: None,
            body,
        }
    }
}
