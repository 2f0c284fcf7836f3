//! Stand-ins of services, and the simulated time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, Response};
use prowess_cloud::{CloudClock, CloudTransport, TransportError, TransportFuture, Variables};
use tokio::time::Instant;

/// 2026-11-15 01:50:40 UTC.
const START: Duration = Duration::from_secs(1_794_707_440);
/// How long every service takes to answer.
const ANSWER_TIME: Duration = Duration::from_millis(300);

type Answer = dyn Fn(&Request<Bytes>) -> Option<Response<Bytes>> + Send + Sync;

/// All services, as one function from requests to responses. What it does not answer cannot be
/// reached.
pub(crate) struct StandIn {
    answer: Box<Answer>,
    requests: Mutex<Vec<Request<Bytes>>>,
}

impl StandIn {
    pub(crate) fn new(
        answer: impl Fn(&Request<Bytes>) -> Option<Response<Bytes>> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(StandIn {
            answer: Box::new(answer),
            requests: Mutex::default(),
        })
    }

    /// No service at all.
    pub(crate) fn nowhere() -> Arc<Self> {
        StandIn::new(|_| None)
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<Request<Bytes>> {
        self.requests.lock().unwrap().clone()
    }

    /// Method and address of all requests so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |request: &Request<Bytes>| format!("{} {}", request.method(), request.uri());
        self.requests().iter().map(line).collect()
    }
}

impl std::fmt::Debug for StandIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StandIn")
    }
}

impl CloudTransport for StandIn {
    fn send(&self, request: Request<Bytes>) -> TransportFuture<'_> {
        Box::pin(async move {
            self.requests.lock().unwrap().push(request.clone());
            tokio::time::sleep(ANSWER_TIME).await;
            let host = request.uri().host().unwrap_or_default();
            (self.answer)(&request).ok_or_else(|| TransportError::new(host, "it does not exist"))
        })
    }
}

pub(crate) fn json(status: u16, body: impl ToString) -> Option<Response<Bytes>> {
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
    Some(response)
}

/// A clock that follows the simulated time.
pub(crate) fn clock() -> CloudClock {
    let start = Instant::now();
    CloudClock::from_fn(move || SystemTime::UNIX_EPOCH + START + start.elapsed())
}

/// Seconds since 1970.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

pub(crate) fn variables<const N: usize>(pairs: [(&str, &str); N]) -> Variables {
    let owned = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let map = HashMap::from(owned);
    Variables::new(move |name| map.get(name).cloned())
}

/// The fields of a form in a request's body.
pub(crate) fn fields(request: &Request<Bytes>) -> HashMap<String, String> {
    let text = std::str::from_utf8(request.body()).unwrap();
    let url = url::Url::parse(&format!("http://x/?{text}")).unwrap();
    url.query_pairs().into_owned().collect()
}

/// A header of a request.
pub(crate) fn header<'r>(request: &'r Request<Bytes>, name: &str) -> Option<&'r str> {
    request
        .headers()
        .get(name)
        .map(|value| value.to_str().unwrap())
}
