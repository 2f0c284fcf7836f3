//! A call in the client's own dialect: bytes in, bytes out, untouched but for the
//! model's name and the auth.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use prowess_wire::neutral::TokenUsage;
use prowess_wire::raw::{Edit, RawObject};
use prowess_wire::{ClientDialect, is_error, raw, read_token_counts, token_counts_key};

use crate::call::ClientCredentials;
use crate::config::Price;
use crate::error::CallError;
use crate::http::{ByteStream, HttpResponse, IdleTimeoutBody, headers, read_ahead};
use crate::key::SecretText;
use crate::limiter::CallPermit;
use crate::provider::{HttpBackend, ProviderBackend};
use crate::retry::RetryState;
use crate::route::{ClientRequest, ForwardOutcome, Target};
use crate::upstream::{BodyOrigin, ModelTask, UpstreamJob};

/// How much of an answer that is no stream is read before the client is told of it.
const READ_AHEAD_BYTES: usize = 1 << 20;

/// An upstream's answer as it came.
#[derive(Debug)]
pub struct PassThroughResponse {
    /// The provider that answered.
    pub provider: String,
    /// The model that was asked, as the provider calls it.
    pub model: String,
    /// What its tokens cost, where that is configured.
    pub price: Option<Price>,
    /// The status.
    pub status: StatusCode,
    /// The headers, without those about the connection.
    pub headers: HeaderMap,
    /// What an answer that is no stream and was read to its end says that it cost.
    pub usage: Option<TokenUsage>,
    /// The body.
    pub body: ByteStream,
}

/// An answer that is an error, in both forms: to be judged, and to be passed on.
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
    /// What the client gets: the upstream's own answer, if there was one.
    pub(crate) fn into_outcome(self) -> Result<ForwardOutcome, CallError> {
        match self.response {
            Some(reply) => Ok(ForwardOutcome::PassedThrough(reply)),
            None => Err(self.error),
        }
    }
}

impl Target {
    /// Passes a request on to this model, once there is a place for the call.
    pub(crate) async fn pass_through(
        &self,
        incoming: ClientRequest<'_>,
        credentials: &ClientCredentials,
    ) -> Result<PassThroughResponse, ForwardFailure> {
        let ProviderBackend::Http(http) = &self.provider.backend else {
            let unsupported = CallError::Unsupported {
                provider: self.provider.name.clone(),
                what: "take bytes as they are",
            };
            return Err(unsupported.into());
        };
        let permit = self.slot.acquire().await?;
        let call = PassThroughCall {
            target: self,
            http,
            incoming,
            body: self.rewrite_body(incoming),
            credentials,
            key: http.key_for(credentials, &self.provider.name).await?,
        };
        call.call_with_retries(permit).await
    }

    /// The client's body with our name for the model in it.
    fn rewrite_body(&self, incoming: ClientRequest<'_>) -> Bytes {
        if incoming.client == ClientDialect::Gemini {
            return gemini_body(&incoming, &self.model);
        }
        let named = incoming.raw.get_str("model");
        if named.as_deref() == Some(self.model.as_str()) {
            return incoming.body.clone();
        }
        incoming.raw.with_str("model", &self.model).into()
    }
}

/// A Gemini client's body: the path names the model, and a body that names one as well, or
/// holds a request to be counted that does, is to mean the same.
fn gemini_body(incoming: &ClientRequest<'_>, model: &str) -> Bytes {
    const COUNT_REQUEST_KEY: &str = "generateContentRequest";
    let name = format!("models/{model}");
    let named = |raw: &RawObject<'_>| raw.get("model").is_some();
    if named(incoming.raw) {
        return incoming.raw.with_str("model", &name).into();
    }
    let counted = incoming.raw.get_camel_or_snake(COUNT_REQUEST_KEY);
    let counted = counted.and_then(|json| RawObject::parse(json.as_bytes()).ok());
    match counted.filter(named) {
        Some(counted) if incoming.task == ModelTask::CountTokens => {
            let counted = counted.with_str("model", &name);
            let counted = String::from_utf8_lossy(&counted).into_owned();
            let edits = [COUNT_REQUEST_KEY, "generate_content_request"];
            let there = edits
                .into_iter()
                .find(|key| incoming.raw.get(key).is_some());
            let key = there.unwrap_or(COUNT_REQUEST_KEY);
            incoming.raw.with_edits(&[Edit::Set(key, &counted)]).into()
        }
        _ => incoming.body.clone(),
    }
}

/// The client's headers, as far as they are for the upstream.
pub(crate) fn client_headers(credentials: &ClientCredentials, uses_client_key: bool) -> HeaderMap {
    let mut headers = headers::for_upstream(&credentials.headers, uses_client_key);
    headers
        .entry(header::CONTENT_TYPE)
        .or_insert(HeaderValue::from_static("application/json"));
    headers
}

/// One request to be passed on, as often as needed.
struct PassThroughCall<'a> {
    target: &'a Target,
    http: &'a HttpBackend,
    incoming: ClientRequest<'a>,
    body: Bytes,
    credentials: &'a ClientCredentials,
    key: Option<SecretText>,
}

impl PassThroughCall<'_> {
    async fn call_with_retries(
        &self,
        permit: Option<CallPermit>,
    ) -> Result<PassThroughResponse, ForwardFailure> {
        let mut tries = RetryState::new(&self.http.retry);
        loop {
            let mut refusal = None;
            let breaker_permit = self.target.slot.breaker.acquire()?;
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
            headers: client_headers(
                self.credentials,
                self.http.uses_client_key(self.credentials),
            ),
            body_origin: BodyOrigin::Client {
                json_array: self.incoming.json_array,
            },
        };
        let dialect = job.dialect;
        let key = self.key.as_ref();
        let response = self.target.send(self.http, job, key).await?;
        if response.status.is_success() {
            return self.start_response(response).await;
        }
        let (status, headers) = (response.status, response.headers.clone());
        let provider = &self.target.provider;
        let error_response = provider.read_error_response(self.http, dialect, response, key);
        let (error, body) = Box::pin(error_response).await?;
        // An error that the client would not understand is told in other words.
        if is_error(self.incoming.client, &body) {
            let mut headers = headers::for_client(headers);
            headers.insert(header::CONTENT_LENGTH, body.len().into());
            let body = ByteStream::from_bytes(body, &self.target.provider.name);
            *refusal = Some(Box::new(self.to_response(status, headers, body)));
        }
        Err(error)
    }

    /// A stream passes as it comes. Of anything else the beginning, and usually all, is
    /// read first: while the client has heard nothing, there can still be an error
    /// instead of an answer that breaks off or is no JSON.
    async fn start_response(
        &self,
        response: HttpResponse,
    ) -> Result<PassThroughResponse, CallError> {
        let provider = &self.target.provider.name;
        let mut body = IdleTimeoutBody::new(response.body, self.http.client.timeouts().idle);
        let mut usage = None;
        let streamed = self.incoming.stream && self.incoming.json_array;
        let body = if streamed || is_event_stream(&response.headers) {
            ByteStream::new(body, provider)
        } else {
            let read = read_ahead(&mut body, READ_AHEAD_BYTES).await;
            let (start, all) = read.map_err(|error| error.to_call_error(provider))?;
            if all {
                usage = self.read_usage(&start)?;
                ByteStream::from_bytes(start, provider)
            } else {
                ByteStream::with_prefix(start, body, provider)
            }
        };
        let headers = headers::for_client(response.headers);
        let passed = self.to_response(response.status, headers, body);
        Ok(PassThroughResponse { usage, ..passed })
    }

    /// The token counts of an answer, which must be JSON.
    fn read_usage(&self, body: &[u8]) -> Result<Option<TokenUsage>, CallError> {
        match raw::field(body, token_counts_key(self.incoming.client)) {
            Ok(usage) => {
                Ok(usage
                    .and_then(|usage| read_token_counts(self.incoming.client, usage.as_bytes())))
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
            price: self.target.slot.price.clone(),
            status,
            headers,
            usage: None,
            body,
        }
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("text/event-stream")
}
