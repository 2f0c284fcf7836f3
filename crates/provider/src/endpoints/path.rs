//! A request to a path of a provider's API: method, path, query and body as the client sent
//! them, with the provider's credentials. Who may send it is decided by the server.

use http::{HeaderMap, header};
use prowess_wire::Dialect;

use super::address::{path_url, without_parameter};
use super::request::ProviderPathRequest;
use super::response::{EndpointResponse, read_headers};
use crate::call_credentials::CallCredentials;
use crate::credentials::ClientCredentials;
use crate::error::CallError;
use crate::http::{ByteStream, HttpRequest, HttpResponse, IdleTimeoutBody, headers};
use crate::key::SecretText;
use crate::provider::{HttpBackend, Provider, ProviderBackend};

/// The kind whose clients may send their key in the query, and how.
const KEY_IN_QUERY: (&str, &str) = ("gemini", "key");
/// The kind whose requests are signed if there is no key.
const SIGNED: &str = "bedrock";

impl Provider {
    /// Sends the request once, without retries: the client can repeat it.
    pub(crate) async fn forward_path(
        &self,
        request: ProviderPathRequest,
        credentials: &ClientCredentials,
    ) -> Result<EndpointResponse, CallError> {
        let ProviderBackend::Http(http) = &self.backend else {
            return Err(self.unsupported("be called by paths: it is a script"));
        };
        let query = request.query.as_deref().map(|query| match KEY_IN_QUERY {
            (kind, name) if kind == self.kind => without_parameter(query, name),
            _ => query.to_owned(),
        });
        let url = path_url(http.upstream.base(), &request.path, query.as_deref());
        let url = url.ok_or_else(|| self.unsupported("be called by a path with `.` or `..`"))?;
        let credentials = credentials.for_named_provider();
        let key = http.key_for(credentials, &self.name).await?;
        if key.is_none() && self.kind == SIGNED {
            return Err(self.unsupported(
                "be called by paths without an API key, as its requests are signed; set \
                 AWS_BEARER_TOKEN_BEDROCK",
            ));
        }
        let is_client_key = http.uses_client_key(credentials);
        let mut headers = path_headers(credentials, is_client_key);
        let authorized = http.upstream.authorize(&mut headers, key.as_ref());
        let mut body = request.body;
        let outgoing = authorized.map(|()| HttpRequest {
            method: request.method,
            destination: url.into(),
            headers,
            body: match &mut body {
                Some(body) => body.for_model(None),
                None => bytes::Bytes::new().into(),
            },
        });
        let outgoing = self.prepare_request(http, outgoing)?;
        let breaker_permit = self.slot.breaker.acquire()?;
        let breaker_permit = breaker_permit.with_client_key(is_client_key);
        let outcome = match http.client.send(outgoing).await {
            Ok(response) => self.read_response(http, response, key.as_ref()).await,
            Err(error) => Err(error),
        };
        match outcome {
            // An error of some path says nothing about the models, whose circuit breaker this is:
            // neither that they fail, nor, as any path can be refused, that they work again.
            Ok(response) if response.status.is_client_error() => Ok(response),
            Ok(response) if response.status.is_server_error() => Ok(response),
            Ok(response) => {
                breaker_permit.record_outcome(&Ok::<(), CallError>(()));
                Ok(response)
            }
            Err(error) => {
                breaker_permit.record_outcome(&Err::<(), _>(error.clone()));
                Err(error)
            }
        }
    }

    async fn read_response(
        &self,
        http: &HttpBackend,
        response: HttpResponse,
        key: Option<&SecretText>,
    ) -> Result<EndpointResponse, CallError> {
        let status = response.status;
        if status.is_client_error() || status.is_server_error() {
            let headers = response.headers.clone();
            let refused = self.read_error_response(http, Dialect::Chat, response, key);
            let (_, body) = Box::pin(refused).await?;
            let headers = read_headers(headers, body.len());
            let body = ByteStream::from_bytes(body);
            return Ok(self.path_response(status, headers, body));
        }
        let headers = headers::for_client(response.headers);
        let body = IdleTimeoutBody::new(response.body, http.client.timeouts().idle);
        let body = ByteStream::new(body, &self.name);
        Ok(self.path_response(status, headers, body))
    }

    fn path_response(
        &self,
        status: http::StatusCode,
        headers: HeaderMap,
        body: ByteStream,
    ) -> EndpointResponse {
        EndpointResponse {
            provider: self.name.clone(),
            provider_kind: self.kind,
            model: String::new(),
            price: None,
            status,
            headers,
            body,
            decision: None,
        }
    }

    fn unsupported(&self, what: &'static str) -> CallError {
        CallError::Unsupported {
            provider: self.name.clone(),
            what,
        }
    }
}

/// The client's headers. The body stays as it is, so its encoding is named as well.
fn path_headers(credentials: CallCredentials<'_>, uses_client_key: bool) -> HeaderMap {
    let mut all = headers::for_upstream(credentials.headers, uses_client_key);
    if let Some(encoding) = credentials.headers.get(header::CONTENT_ENCODING) {
        all.insert(header::CONTENT_ENCODING, encoding.clone());
    }
    all
}
