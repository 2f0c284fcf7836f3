//! Wraps every request: request id, dialect, log line, metrics.
//!
//! Logs contain the path, never the query, a header or a body: those may contain secrets.

mod drain;
mod metrics;

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
use crate::request_id::RequestId;
use crate::request_log::{self, InnerCall, RequestInfo};

/// A request and its response.
pub(crate) struct Exchange {
    started: Instant,
    id: RequestId,
    /// The dialect of error responses.
    client: ClientDialect,
    info: Arc<RequestInfo>,
    /// Whether it is logged at debug level only.
    is_quiet: bool,
}

impl Exchange {
    /// Begins with the head of a request and the route pattern of its path.
    pub(crate) fn begin<B>(request: &axum::http::Request<B>, route: &str) -> Exchange {
        let client = client_dialect(request.uri().path(), request.headers());
        Exchange::begin_in(client, request, route)
    }

    /// Begins with a dialect that the route tells.
    pub(crate) fn begin_in<B>(
        client: ClientDialect,
        request: &axum::http::Request<B>,
        route: &str,
    ) -> Exchange {
        let id = RequestId::new();
        Exchange {
            started: Instant::now(),
            id,
            client,
            info: RequestInfo::new(id, request.method().clone(), request.uri().path(), route),
            is_quiet: request.extensions().get::<InnerCall>().is_some(),
        }
    }

    pub(crate) fn id(&self) -> RequestId {
        self.id
    }

    /// Runs a future; what it logs carries the request's fields.
    pub(crate) fn scope<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        request_log::scope(&self.info, work)
    }

    /// Ends with the response: renders errors, records metrics, logs, and adds the request id.
    pub(crate) fn end(self, response: Response) -> Response {
        let mut response = render_error(response, self.client, self.id);
        let elapsed = self.started.elapsed();
        let status = response.status().as_u16();
        let info = &self.info;
        metrics::record_request(info.method().as_str(), info.route(), status, elapsed);
        info.log_done(status, elapsed, self.is_quiet || is_health(info.route()));
        add_id(&mut response, self.id);
        response
    }
}

/// Middleware of the router.
pub(crate) async fn middleware(mut request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    let exchange = Exchange::begin(&request, route);
    let dialect = ApiDialect::detect(request.uri().path(), request.headers());
    request.extensions_mut().insert(dialect);
    request.extensions_mut().insert(exchange.id);
    let response = exchange.scope(next.run(request)).await;
    exchange.end(response)
}

/// Whether a path is a health check. Those are sent every few seconds, so they are logged at
/// debug level only, and they are answered however busy the server is.
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

/// Renders the error that a response carries, in the dialect of the request.
fn render_error(mut response: Response, client: ClientDialect, id: RequestId) -> Response {
    match response.extensions_mut().remove::<HttpError>() {
        None => response,
        Some(error) => {
            let code = error.code;
            tracing::debug!(code, "request refused");
            let mut rendered = error::render(&error, client, &id.to_string());
            // Such as the allowed methods.
            for (name, value) in response.headers() {
                if *name != CONTENT_LENGTH {
                    rendered.headers_mut().entry(name).or_insert(value.clone());
                }
            }
            rendered
        }
    }
}

/// For Anthropic's clients.
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
/// For OpenAI's clients.
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

fn add_id(response: &mut Response, id: RequestId) {
    if let Ok(value) = HeaderValue::from_bytes(&id.to_ascii()) {
        let headers = response.headers_mut();
        // A response of an upstream may have an id already.
        headers.entry(REQUEST_ID).or_insert_with(|| value.clone());
        headers.entry(X_REQUEST_ID).or_insert(value);
    }
}
