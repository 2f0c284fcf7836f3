//! Around every request: its id, its dialect, its log line, its metrics.
//!
//! Logs hold the route, never the query, a header or a body: those may hold secrets.

mod drain;
mod metrics;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use prowess_wire::ClientDialect;

pub(crate) use drain::DrainedBody;
pub(crate) use metrics::Metrics;

use crate::dialect::{ApiDialect, client_dialect};
use crate::error::{self, HttpError};
use crate::request_log::{self, RequestInfo};

/// The id of a request, by which its log lines are found. It guards nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestId(u64, u32);

impl RequestId {
    fn new() -> RequestId {
        RequestId(fastrand::u64(..), fastrand::u32(..))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "req_{:016x}{:08x}", self.0, self.1)
    }
}

/// A request and its answer, from the first to the last that is done for them.
pub(crate) struct Exchange {
    started: Instant,
    id: RequestId,
    dialect: ApiDialect,
    /// In whose words it is told of an error.
    client: ClientDialect,
    info: Arc<RequestInfo>,
}

impl Exchange {
    /// Begins with the head of a request, and the pattern that its path matches.
    pub(crate) fn begin<B>(request: &axum::http::Request<B>, route: &str) -> Exchange {
        let id = RequestId::new();
        Exchange {
            started: Instant::now(),
            id,
            dialect: ApiDialect::detect(request.uri().path(), request.headers()),
            client: client_dialect(request.uri().path(), request.headers()),
            info: RequestInfo::new(id, request.method().clone(), route),
        }
    }

    pub(crate) fn id(&self) -> RequestId {
        self.id
    }

    /// Works for the request: what is logged meanwhile names it.
    pub(crate) fn scope<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        request_log::scope(&self.info, work)
    }

    /// Ends with the answer, which is given what every answer has.
    pub(crate) fn end(self, response: Response) -> Response {
        let mut response = render_error(response, self.client, self.id);
        let elapsed = self.started.elapsed();
        let status = response.status().as_u16();
        let info = &self.info;
        metrics::record_request(info.method().as_str(), info.route(), status, elapsed);
        info.log_done(status, elapsed, is_health(info.route()));
        add_id(&mut response, self.id);
        response
    }
}

/// Around what the router finds.
pub(crate) async fn middleware(mut request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    let exchange = Exchange::begin(&request, route);
    request.extensions_mut().insert(exchange.dialect);
    request.extensions_mut().insert(exchange.id);
    let response = exchange.scope(next.run(request)).await;
    exchange.end(response)
}

/// Whether a path is one at which health is asked for, every few seconds: nobody wants to
/// read that, and it is answered however busy the server is.
pub(crate) fn is_health(path: &str) -> bool {
    const PATHS: [&str; 6] = [
        "/healthz",
        "/readyz",
        "/metrics",
        "/health/liveliness",
        "/health/liveness",
        "/health/readiness",
    ];
    PATHS.contains(&path)
}

/// The error a response carries, in the dialect of its request.
fn render_error(mut response: Response, client: ClientDialect, id: RequestId) -> Response {
    match response.extensions_mut().remove::<HttpError>() {
        None => response,
        Some(error) => {
            let code = error.code;
            tracing::debug!(code, "refused");
            let mut rendered = error::render(&error, client, &id.to_string());
            // Such as the methods that would have been allowed.
            for (name, value) in response.headers() {
                if *name != CONTENT_LENGTH {
                    rendered.headers_mut().entry(name).or_insert(value.clone());
                }
            }
            rendered
        }
    }
}

/// Anthropic's clients read this header.
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
/// OpenAI's read this one.
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

fn add_id(response: &mut Response, id: RequestId) {
    if let Ok(value) = HeaderValue::try_from(id.to_string()) {
        let headers = response.headers_mut();
        // An answer that was fetched from elsewhere has an id already.
        headers.entry(REQUEST_ID).or_insert(value.clone());
        headers.entry(X_REQUEST_ID).or_insert(value);
    }
}
