//! The HTTP client of one provider: its connections and timeouts.
//!
//! HTTP/1.1 only. Over HTTP/2 all calls to a host would share one connection, and beyond
//! the peer's stream limit (often 100) they would wait silently. Dropping a call here
//! closes its connection, which every upstream understands as a cancellation.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use url::Url;

use super::address::{Destination, RequestAddress};
use super::connect::UpstreamConnector;
use super::connection::{SendError, UpstreamConnection};
use super::echoed_secrets::EchoedSecrets;
use super::pool::ConnectionPool;
use super::request_body::RequestBody;
use super::response_body::ResponseBody;
use crate::config::ProviderTimeouts;
use crate::error::CallError;

/// A provider's HTTP client.
#[derive(Debug)]
pub(crate) struct HttpClient {
    provider: String,
    timeouts: ProviderTimeouts,
    /// Whether the upstream is on this machine, so that no proxy is used.
    local: bool,
    // Created on first use: it reads the system's certificates, which would slow down the
    // start.
    connector: OnceLock<Result<UpstreamConnector, String>>,
    pool: Arc<ConnectionPool>,
}

/// A request, before it is sent.
#[derive(Debug)]
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) destination: Destination,
    pub(crate) headers: HeaderMap,
    pub(crate) body: RequestBody,
}

/// The headers of a response, and its unread body.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: ResponseBody,
}

impl HttpClient {
    pub(crate) fn new(provider: &str, base: &Url, timeouts: &ProviderTimeouts) -> Self {
        HttpClient::with_locality(provider, is_local(base), timeouts)
    }

    /// A client for several addresses: all on this machine or its link-local network, or none.
    pub(crate) fn with_locality(provider: &str, local: bool, timeouts: &ProviderTimeouts) -> Self {
        HttpClient {
            local,
            provider: provider.to_owned(),
            timeouts: timeouts.clone(),
            connector: OnceLock::new(),
            pool: Arc::default(),
        }
    }

    pub(crate) fn timeouts(&self) -> &ProviderTimeouts {
        &self.timeouts
    }

    /// Sends a request and waits for the response headers.
    pub(crate) fn send(
        &self,
        request: HttpRequest,
    ) -> BoxFuture<'_, Result<HttpResponse, CallError>> {
        Box::pin(async move {
            let sent = self.exchange(request);
            tokio::time::timeout(self.timeouts.response, sent)
                .await
                .map_err(|_| self.timeout_error("response", self.timeouts.response))?
        })
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, CallError> {
        let HttpRequest {
            method,
            destination: to,
            headers,
            body,
        } = request;
        let to = RequestAddress::try_from(to)
            .map_err(|error| self.unreachable_error(format!("its address is invalid: {error}")))?;
        let uri = &to.uri;
        let secrets = EchoedSecrets::of_request(&headers);
        let mut request = build_request(&to, method, headers, body);
        while let Some(mut connection) = self.pool.take(uri) {
            match connection.send(request).await {
                Ok(response) => return Ok(self.to_response(connection, response, &secrets)),
                // It was closed before anything was sent; the next one may work.
                Err(SendError::Unsent(unsent)) => {
                    request = *unsent;
                    *request.uri_mut() = uri.clone();
                }
                Err(SendError::Broken(error)) => {
                    return Err(self.unreachable_error(root_cause(&error)));
                }
            }
        }
        let mut connection = Box::pin(self.connect(uri)).await?;
        match connection.send(request).await {
            Ok(response) => Ok(self.to_response(connection, response, &secrets)),
            Err(SendError::Unsent(_)) => Err(self.unreachable_error(
                "it closed a new connection before the request was sent".to_owned(),
            )),
            Err(SendError::Broken(error)) => Err(self.unreachable_error(root_cause(&error))),
        }
    }

    fn to_response(
        &self,
        connection: Box<UpstreamConnection>,
        response: http::Response<hyper::body::Incoming>,
        secrets: &EchoedSecrets,
    ) -> HttpResponse {
        let (mut head, body) = response.into_parts();
        secrets.hide_in(&mut head.headers);
        HttpResponse {
            status: head.status,
            headers: head.headers,
            body: ResponseBody::new(body, connection, &self.pool),
        }
    }

    async fn connect(&self, uri: &Uri) -> Result<Box<UpstreamConnection>, CallError> {
        let connector = self
            .connector
            .get_or_init(|| UpstreamConnector::new(self.local));
        let connector = connector
            .as_ref()
            .map_err(|reason| self.unreachable_error(reason.clone()))?;
        let connected = tokio::time::timeout(self.timeouts.connect, connector.connect(uri)).await;
        let connected = connected.map_err(|_| {
            let millis = self.timeouts.connect.as_millis();
            self.unreachable_error(format!("no connection within {millis} ms"))
        })?;
        connected.map_err(|error| self.unreachable_error(root_cause(error.as_ref())))
    }

    fn unreachable_error(&self, reason: String) -> CallError {
        CallError::Unreachable {
            provider: self.provider.clone(),
            reason,
        }
    }

    fn timeout_error(&self, what: &'static str, after: Duration) -> CallError {
        CallError::Timeout {
            provider: self.provider.clone(),
            what,
            after,
        }
    }
}

/// Adds the headers that HTTP requires.
fn build_request(
    to: &RequestAddress,
    method: Method,
    headers: HeaderMap,
    body: RequestBody,
) -> http::Request<RequestBody> {
    let mut request = http::Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = to.uri.clone();
    *request.headers_mut() = headers;
    let headers = request.headers_mut();
    headers
        .entry(header::ACCEPT)
        .or_insert(HeaderValue::from_static("*/*"));
    if let Some(host) = &to.host {
        headers.insert(header::HOST, host.clone());
    }
    request
}

/// Whether an address is on this machine.
fn is_local(base: &Url) -> bool {
    base.host_str().is_some_and(|host| {
        let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    })
}

/// The innermost cause: the outer errors only say that sending failed.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
