//! How requests for credentials are sent: the caller has the HTTP client, so that there is one
//! in a process; this module has the rules for addresses, statuses and retries.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::error::{CloudError, SourceReport};

/// The response to a request for credentials.
pub type TransportFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Response<Bytes>, TransportError>> + Send + 'a>>;

/// Sends requests for credentials. It follows no redirects and limits the size of responses.
pub trait CloudTransport: std::fmt::Debug + Send + Sync {
    /// Sends a request to its absolute address and reads the whole response.
    fn send(&self, request: Request<Bytes>) -> TransportFuture<'_>;
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{host}: {reason}")]
pub struct TransportError {
    /// The host.
    pub host: String,
    /// What went wrong.
    pub reason: String,
}

impl TransportError {
    /// An error of this host.
    pub fn new(host: &str, reason: impl Into<String>) -> Self {
        TransportError {
            host: host.to_owned(),
            reason: reason.into(),
        }
    }
}

/// How often a request is sent if it fails in a way that may pass.
const MAX_ATTEMPTS: u32 = 3;
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(200);
/// Longer than any service takes. Short, as each is asked several times.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);

/// The sender of one source's requests.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    transport: Arc<dyn CloudTransport>,
}

impl Sender {
    pub(crate) fn new(transport: Arc<dyn CloudTransport>) -> Self {
        Sender { transport }
    }

    /// Sends a request and reads the JSON of a successful response. `source` names what is
    /// asked.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        source: &str,
        request: &Request<Bytes>,
    ) -> Result<T, CloudError> {
        let response = self.send(source, request).await?;
        parse(source, request, &response)
    }

    /// Sends a request until it succeeds, or fails for good. The caller's error says what the
    /// last attempt did.
    pub(crate) async fn send(
        &self,
        source: &str,
        request: &Request<Bytes>,
    ) -> Result<Response<Bytes>, CloudError> {
        let mut delay = FIRST_RETRY_DELAY;
        let mut attempt = 1;
        loop {
            let error = match self.attempt(source, request).await {
                Err(error) if error.is_transient() && attempt < MAX_ATTEMPTS => error,
                result => return result,
            };
            tracing::debug!(%error, "a request for credentials is repeated");
            tokio::time::sleep(delay).await;
            delay *= 2;
            attempt += 1;
        }
    }

    async fn attempt(
        &self,
        source: &str,
        request: &Request<Bytes>,
    ) -> Result<Response<Bytes>, CloudError> {
        let unanswered = |reason| CloudError::Unanswered(SourceReport::new(source, reason));
        let sent = self.transport.send(request.clone());
        let response = match tokio::time::timeout(ATTEMPT_TIMEOUT, sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unanswered(error.to_string())),
            Err(_) => {
                let (host, seconds) = (host(request), ATTEMPT_TIMEOUT.as_secs());
                return Err(unanswered(format!(
                    "{host} did not answer within {seconds} s"
                )));
            }
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let (host, status) = (host(request), response.status());
        let reason = match error_code(response.body()) {
            Some(code) => format!("{host} returned {status} ({code})"),
            None => format!("{host} returned {status}"),
        };
        Err(CloudError::Refused {
            report: SourceReport::new(source, reason),
            remedy: "",
            transient: is_transient_status(status),
        })
    }
}

/// Whether the same request may succeed soon after a response with this status.
pub(crate) fn is_transient_status(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT
        )
}

/// Reads a response. The parser's message may quote the response, so only its position is
/// reported.
fn parse<T: DeserializeOwned>(
    source: &str,
    request: &Request<Bytes>,
    response: &Response<Bytes>,
) -> Result<T, CloudError> {
    serde_json::from_slice(response.body()).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let host = host(request);
        CloudError::refused(
            source,
            format!("{host} sent an unexpected response (line {line}, column {column})"),
        )
    })
}

fn host(request: &Request<Bytes>) -> &str {
    request.uri().host().unwrap_or_default()
}

/// The code of an OAuth error. The rest of the body is not quoted: it may repeat what was sent.
fn error_code(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct OAuthError {
        error: String,
    }
    let OAuthError { error } = serde_json::from_slice(body).ok()?;
    let is_code = error.len() <= 40
        && error
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_code.then_some(error)
}

/// An address that may get secrets: encrypted, or on this machine or its link-local network.
pub(crate) fn checked_url(source: &str, text: &str) -> Result<Url, CloudError> {
    let refused = |reason: String| CloudError::refused(source, reason);
    let url =
        Url::parse(text).map_err(|error| refused(format!("{text:?} is not a URL: {error}")))?;
    let is_allowed = match url.scheme() {
        "https" => url.host_str().is_some(),
        "http" => is_near(&url),
        _ => false,
    };
    if is_allowed {
        return Ok(url);
    }
    let host = url.host_str().unwrap_or_default();
    Err(refused(format!(
        "the address of {host:?} must begin with https://"
    )))
}

/// Whether an address is on this machine or its link-local network. EKS and EC2 have local
/// addresses of IPv6.
fn is_near(url: &Url) -> bool {
    const EC2: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    const EKS: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23);
    match url.host() {
        Some(url::Host::Domain(name)) => {
            matches!(name, "localhost" | "metadata.google.internal")
        }
        Some(url::Host::Ipv4(ip)) => is_near_ip(ip.into()),
        Some(url::Host::Ipv6(ip)) => ip == EC2 || ip == EKS || is_near_ip(ip.into()),
        None => false,
    }
}

fn is_near_ip(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unicast_link_local(),
    }
}

/// The address of the metadata services of Google and Azure.
pub(crate) const METADATA_IP: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// A request with fields in its body.
pub(crate) fn form_request(url: &Url, fields: &[(&str, &str)]) -> Request<Bytes> {
    // Fields are encoded like a query.
    let mut form = url.clone();
    form.query_pairs_mut().clear().extend_pairs(fields);
    let body = Bytes::from(form.query().unwrap_or_default().to_owned());
    let form = HeaderValue::from_static("application/x-www-form-urlencoded");
    let mut request = request_to(url, body);
    *request.method_mut() = http::Method::POST;
    request.headers_mut().insert(CONTENT_TYPE, form);
    request
}

/// A GET request with this body. An address that no request can have leads nowhere, and the
/// transport says so.
pub(crate) fn request_to(url: &Url, body: Bytes) -> Request<Bytes> {
    let mut request = Request::new(body);
    *request.uri_mut() = url.as_str().parse().unwrap_or_default();
    request
}

/// A header value that is not printed.
pub(crate) fn secret_header(source: &str, text: &str) -> Result<HeaderValue, CloudError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        CloudError::refused(source, "a secret has characters that no header can have")
    })?;
    value.set_sensitive(true);
    Ok(value)
}
