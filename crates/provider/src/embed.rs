//! Embeddings: the vectors of some texts, from the first model of a route that responds.
//!
//! Clients' requests pass unchanged where the upstream has OpenAI's API; this module translates
//! for all others, and makes the requests that Prowess itself needs.

use bytes::Bytes;
use futures_util::future::try_join_all;
use http::HeaderMap;
use prowess_wire::Dropped;
use prowess_wire::embeddings::{
    EmbeddingCall, EmbeddingDialect, EmbeddingRequest, EmbeddingResponse, read_embedding_response,
    write_embedding_calls,
};

use crate::call_credentials::CallCredentials;
use crate::config::Price;
use crate::deployments::RouteDecision;
use crate::error::CallError;
use crate::http::{HttpResponse, IdleTimeoutBody, headers, read_all};
use crate::key::SecretText;
use crate::provider::{HttpBackend, ProviderBackend};
use crate::target::Target;
use crate::upstream::{BodyOrigin, ModelTask, UpstreamJob};

/// Maximum size of the response to one call: 2,048 vectors of 3,072 numbers.
const MAX_EMBEDDINGS_BYTES: usize = 128 << 20;
/// Calls that one request makes at the same time, where a call takes only few texts.
const CONCURRENT_CALLS: usize = 8;
/// Where Bedrock counts tokens that the body of a response does not have.
const TOKENS_HEADER: &str = "x-amzn-bedrock-input-token-count";

/// Vectors and where they came from.
#[derive(Debug)]
pub struct EmbeddingReply {
    /// The provider that responded.
    pub provider: String,
    /// The model that responded, as the provider calls it.
    pub model: String,
    /// The price of its tokens, if configured.
    pub price: Option<Price>,
    /// The fields of the request that the provider does not support.
    pub dropped: Vec<Dropped>,
    /// The vectors.
    pub response: EmbeddingResponse,
    /// Whether the number of tokens is an estimate.
    pub estimated: bool,
    /// Why this model answered, if there was a choice.
    pub decision: Option<Box<RouteDecision>>,
}

impl Target {
    /// The vectors of a request's input, after waiting for a permit.
    pub(crate) async fn embed(
        &self,
        request: &EmbeddingRequest,
        credentials: CallCredentials<'_>,
    ) -> Result<EmbeddingReply, CallError> {
        let _permit = self.slot.acquire(credentials.owner).await?;
        let (mut response, dropped) = match &self.provider.backend {
            ProviderBackend::Http(http) => self.embed_upstream(http, request, credentials).await?,
            ProviderBackend::Scripted(script) => {
                (self.embed_script(script, request).await?, Vec::new())
            }
        };
        let estimated = response.input_tokens.is_none();
        response
            .input_tokens
            .get_or_insert_with(|| request.estimate_tokens());
        Ok(EmbeddingReply {
            provider: self.provider.name.clone(),
            model: self.model.clone(),
            price: self.price().cloned(),
            dropped,
            response,
            estimated,
            decision: None,
        })
    }

    async fn embed_upstream(
        &self,
        http: &HttpBackend,
        request: &EmbeddingRequest,
        credentials: CallCredentials<'_>,
    ) -> Result<(EmbeddingResponse, Vec<Dropped>), CallError> {
        let Some(dialect) = http.upstream.embedding_dialect(self.api_name(http)) else {
            return Err(CallError::Unsupported {
                provider: self.provider.name.clone(),
                what: "create embeddings with this model; use an embedding model of OpenAI, \
                       Azure, Gemini, Vertex AI, or of Amazon or Cohere on Bedrock",
            });
        };
        let encoded = write_embedding_calls(dialect, request, &self.model)?;
        let upstream = EmbeddingUpstream {
            target: self,
            http,
            dialect,
            headers: request_headers(credentials),
            key: http.key_for(credentials, &self.provider.name).await?,
            is_client_key: http.uses_client_key(credentials),
        };
        let mut all = EmbeddingResponse {
            vectors: Vec::new(),
            input_tokens: Some(0),
        };
        for calls in encoded.calls.chunks(CONCURRENT_CALLS) {
            let responses = calls.iter().map(|call| upstream.call_with_retries(call));
            for response in try_join_all(responses).await? {
                all.vectors.extend(response.vectors);
                let tokens = all.input_tokens.zip(response.input_tokens);
                all.input_tokens = tokens.map(|(sum, tokens)| sum.saturating_add(tokens));
            }
        }
        Ok((all, encoded.dropped))
    }
}

/// What all calls of a request share.
struct EmbeddingUpstream<'a> {
    target: &'a Target,
    http: &'a HttpBackend,
    dialect: EmbeddingDialect,
    headers: HeaderMap,
    key: Option<SecretText>,
    /// Whether that is the client's own.
    is_client_key: bool,
}

impl EmbeddingUpstream<'_> {
    async fn call_with_retries(
        &self,
        call: &EmbeddingCall,
    ) -> Result<EmbeddingResponse, CallError> {
        let body = Bytes::from(call.body.to_string());
        let mut tries = self.target.retries(self.http);
        loop {
            let breaker_permit = self.target.slot.breaker.acquire()?;
            let breaker_permit = breaker_permit.with_client_key(self.is_client_key);
            let outcome = self.attempt(body.clone(), call.inputs).await;
            breaker_permit.record_outcome(&outcome);
            match outcome {
                Ok(response) => return Ok(response),
                Err(error) => tries.wait_before_retry(error).await?,
            }
        }
    }

    async fn attempt(&self, body: Bytes, inputs: usize) -> Result<EmbeddingResponse, CallError> {
        let dialect = self.dialect.error_dialect();
        let job = UpstreamJob {
            task: ModelTask::Embed,
            dialect,
            model: &self.target.model,
            stream: false,
            body,
            headers: self.headers.clone(),
            body_origin: BodyOrigin::Gateway,
        };
        let key = self.key.as_ref();
        let sent = self.target.send(self.http, job, key, self.is_client_key);
        let response = sent.await?;
        if response.status.is_success() {
            return self.read(response, inputs).await;
        }
        let provider = &self.target.provider;
        let (error, _) = provider
            .read_error_response(self.http, dialect, response, self.key.as_ref())
            .await?;
        Err(error)
    }

    async fn read(
        &self,
        response: HttpResponse,
        inputs: usize,
    ) -> Result<EmbeddingResponse, CallError> {
        let provider = &self.target.provider.name;
        let counted = response.headers.get(TOKENS_HEADER);
        let counted = counted.and_then(|count| count.to_str().ok()?.parse().ok());
        let mut body = IdleTimeoutBody::new(response.body, self.http.client.timeouts().idle);
        let bytes = read_all(&mut body, MAX_EMBEDDINGS_BYTES)
            .await
            .map_err(|error| error.to_call_error(provider))?
            .ok_or_else(|| CallError::ResponseTooLarge {
                provider: provider.clone(),
                limit: MAX_EMBEDDINGS_BYTES,
            })?;
        let read = read_embedding_response(self.dialect, &bytes, inputs);
        let mut read = read.map_err(|error| CallError::MalformedResponse {
            provider: provider.clone(),
            reason: error.to_string(),
        })?;
        read.input_tokens = read.input_tokens.or(counted);
        Ok(read)
    }
}

/// The client's trace goes on; its other headers are meant for OpenAI's API.
fn request_headers(credentials: CallCredentials<'_>) -> HeaderMap {
    let mut all = headers::default_headers(false);
    for name in ["traceparent", "tracestate"] {
        for value in credentials.headers.get_all(name) {
            all.append(name, value.clone());
        }
    }
    all
}
