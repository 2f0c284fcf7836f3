//! The client of one provider: built when first needed, with its own pool.
//!
//! HTTP/1.1 only. Over HTTP/2 all calls to a host would share one connection, and past
//! the peer's limit of streams (often 100) they wait without a word; and dropping a
//! call here closes its connection, which every upstream understands as "stop".

use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use reqwest::{Url, redirect};

use crate::config::Timeouts;
use crate::error::CallError;

/// Idle connections kept per host: enough for bursts, few enough to be polite.
const MAX_IDLE: usize = 256;
/// Below the minute after which most load balancers close an idle connection.
const IDLE_AGE: Duration = Duration::from_secs(50);

/// A provider's HTTP client.
#[derive(Debug)]
pub(crate) struct HttpClient {
    provider: String,
    timeouts: Timeouts,
    /// Whether it is on this machine, so that no proxy stands between.
    local: bool,
    // Building it reads the system's certificates; a gateway should start without.
    client: OnceLock<Result<reqwest::Client, String>>,
}

/// The head of an answer, and its body to be read.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: reqwest::Body,
}

impl HttpClient {
    pub(crate) fn new(provider: &str, base: &Url, timeouts: &Timeouts) -> Self {
        HttpClient {
            local: is_local(base),
            provider: provider.to_owned(),
            timeouts: timeouts.clone(),
            client: OnceLock::new(),
        }
    }

    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn send(&self, request: reqwest::Request) -> Result<HttpAnswer, CallError> {
        let client = self
            .client
            .get_or_init(|| build(&self.timeouts, self.local));
        let client = client
            .as_ref()
            .map_err(|reason| self.unreachable(reason.clone()))?;
        let answer = tokio::time::timeout(self.timeouts.answer, client.execute(request))
            .await
            .map_err(|_| self.timeout("answer", self.timeouts.answer))?
            .map_err(|error| self.failed(error))?;
        let (head, body) = http::Response::from(answer).into_parts();
        Ok(HttpAnswer {
            status: head.status,
            headers: head.headers,
            body,
        })
    }

    fn failed(&self, error: reqwest::Error) -> CallError {
        if error.is_timeout() && error.is_connect() {
            let millis = self.timeouts.connect.as_millis();
            return self.unreachable(format!("no connection within {millis} ms"));
        }
        self.unreachable(reason_of(&error.without_url()))
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

/// Whether an address is on this machine.
fn is_local(base: &Url) -> bool {
    base.host_str().is_some_and(|host| {
        let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    })
}

fn build(timeouts: &Timeouts, local: bool) -> Result<reqwest::Client, String> {
    let builder = reqwest::Client::builder();
    // Others are reached as HTTPS_PROXY and its like say.
    let builder = if local { builder.no_proxy() } else { builder };
    builder
        .http1_only()
        .connect_timeout(timeouts.connect)
        .pool_max_idle_per_host(MAX_IDLE)
        .pool_idle_timeout(IDLE_AGE)
        .tcp_nodelay(true)
        .redirect(redirect::Policy::none())
        .build()
        .map_err(|error| reason_of(&error))
}

/// The innermost cause: the outer ones only say that sending failed.
pub(crate) fn reason_of(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
