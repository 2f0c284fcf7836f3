//! The client of one provider: its connections, and the patience with them.
//!
//! HTTP/1.1 only. Over HTTP/2 all calls to a host would share one connection, and past
//! the peer's limit of streams (often 100) they wait without a word; and dropping a
//! call here closes its connection, which every upstream understands as "stop".

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use url::Url;

use super::address::{Address, To};
use super::dial::Dialer;
use super::link::{AnswerBody, Failed, Link};
use super::pool::Pool;
use crate::config::Timeouts;
use crate::error::CallError;

/// A provider's HTTP client.
#[derive(Debug)]
pub(crate) struct HttpClient {
    provider: String,
    timeouts: Timeouts,
    /// Whether it is on this machine, so that no proxy stands between.
    local: bool,
    // Building it reads the system's certificates; a gateway should start without.
    dialer: OnceLock<Result<Dialer, String>>,
    pool: Arc<Pool>,
}

/// A request, before it is sent.
#[derive(Debug)]
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) to: To,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The head of an answer, and its body to be read.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: AnswerBody,
}

impl HttpClient {
    pub(crate) fn new(provider: &str, base: &Url, timeouts: &Timeouts) -> Self {
        HttpClient {
            local: is_local(base),
            provider: provider.to_owned(),
            timeouts: timeouts.clone(),
            dialer: OnceLock::new(),
            pool: Arc::default(),
        }
    }

    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn send(&self, request: HttpRequest) -> Result<HttpAnswer, CallError> {
        let sent = self.exchange(request);
        tokio::time::timeout(self.timeouts.answer, sent)
            .await
            .map_err(|_| self.timeout("answer", self.timeouts.answer))?
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpAnswer, CallError> {
        let HttpRequest {
            method,
            to,
            headers,
            body,
        } = request;
        let to = Address::try_from(to)
            .map_err(|error| self.unreachable(format!("its address cannot be used: {error}")))?;
        let uri = &to.uri;
        let mut request = prepared(&to, method, headers, body);
        while let Some(mut link) = self.pool.take(uri) {
            match link.ask(request).await {
                Ok(answer) => return Ok(self.answer(link, answer)),
                // It was closed before anything was sent; the next may not be.
                Err(Failed::Unsent(given_back)) => request = *given_back,
                Err(Failed::Broken(error)) => return Err(self.unreachable(reason_of(&error))),
            }
        }
        let mut link = Box::pin(self.dial(uri)).await?;
        match link.ask(request).await {
            Ok(answer) => Ok(self.answer(link, answer)),
            Err(Failed::Unsent(_)) => Err(self.unreachable("it closes new connections".to_owned())),
            Err(Failed::Broken(error)) => Err(self.unreachable(reason_of(&error))),
        }
    }

    fn answer(&self, link: Box<Link>, answer: http::Response<hyper::body::Incoming>) -> HttpAnswer {
        let (head, body) = answer.into_parts();
        HttpAnswer {
            status: head.status,
            headers: head.headers,
            body: AnswerBody::new(body, link, &self.pool),
        }
    }

    async fn dial(&self, uri: &Uri) -> Result<Box<Link>, CallError> {
        let dialer = self.dialer.get_or_init(|| Dialer::new(self.local));
        let dialer = dialer
            .as_ref()
            .map_err(|reason| self.unreachable(reason.clone()))?;
        let dialled = tokio::time::timeout(self.timeouts.connect, dialer.dial(uri)).await;
        let dialled = dialled.map_err(|_| {
            let millis = self.timeouts.connect.as_millis();
            self.unreachable(format!("no connection within {millis} ms"))
        })?;
        dialled.map_err(|error| self.unreachable(reason_of(error.as_ref())))
    }

    fn unreachable(&self, reason: String) -> CallError {
        CallError::Unreachable {
            provider: self.provider.clone(),
            reason,
        }
    }

    fn timeout(&self, what: &'static str, after: Duration) -> CallError {
        CallError::Timeout {
            provider: self.provider.clone(),
            what,
            after,
        }
    }
}

/// The request with what HTTP asks of every request.
fn prepared(to: &Address, method: Method, headers: HeaderMap, body: Bytes) -> http::Request<Bytes> {
    let mut prepared = http::Request::new(body);
    *prepared.method_mut() = method;
    *prepared.uri_mut() = to.uri.clone();
    *prepared.headers_mut() = headers;
    let headers = prepared.headers_mut();
    headers
        .entry(header::ACCEPT)
        .or_insert(HeaderValue::from_static("*/*"));
    if let Some(host) = &to.host {
        headers.insert(header::HOST, host.clone());
    }
    prepared
}

/// Whether an address is on this machine.
fn is_local(base: &Url) -> bool {
    base.host_str().is_some_and(|host| {
        let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    })
}

/// The innermost cause: the outer ones only say that sending failed.
pub(crate) fn reason_of(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
