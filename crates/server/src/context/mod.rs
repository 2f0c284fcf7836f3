//! Around every request: its id, its dialect, its log line, its metrics.
//!
//! Logs hold the route, never the query, a header or a body: those may hold secrets.

mod drain;
mod metrics;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_LENGTH;
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

pub(crate) use metrics::Metrics;

use crate::dialect::Dialect;
use crate::error::{self, ApiError};

/// The id of a request, by which its log lines are found.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestId(Arc<str>);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Gives a request its context, and its response what every response has.
pub(crate) async fn around(mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = new_id();
    let dialect = Dialect::of(request.uri().path(), request.headers());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or_else(|| "unmatched".to_owned(), |path| path.as_str().to_owned());
    request.extensions_mut().insert(dialect);
    request
        .extensions_mut()
        .insert(RequestId(Arc::from(id.as_str())));
    let empty = tracing::field::Empty;
    let span = tracing::info_span!("request", id, %method, route, tenant = empty, key = empty);
    let request = request.map(drain::Drained::wrap);
    let response = next.run(request).instrument(span.clone()).await;
    let mut response = told(response, dialect, &id);
    let taken = started.elapsed();
    let status = response.status().as_u16();
    metrics::request(method.as_str(), &route, status, taken);
    let _entered = span.enter();
    let ms = u64::try_from(taken.as_millis()).unwrap_or(u64::MAX);
    if quiet(&route) {
        tracing::debug!(status, ms, "done");
    } else {
        tracing::info!(status, ms, "done");
    }
    add_id(&mut response, &id);
    response
}

/// Health is asked for every few seconds; nobody wants to read that.
fn quiet(route: &str) -> bool {
    matches!(route, "/healthz" | "/readyz" | "/metrics")
}

/// The error a response carries, in the dialect of its request.
fn told(mut response: Response, dialect: Dialect, id: &str) -> Response {
    match response.extensions_mut().remove::<ApiError>() {
        None => response,
        Some(error) => {
            let code = error.code;
            tracing::debug!(code, "refused");
            let mut told = error::render(&error, dialect, id);
            // Such as the methods that would have been allowed.
            for (name, value) in response.headers() {
                if *name != CONTENT_LENGTH {
                    told.headers_mut().entry(name).or_insert(value.clone());
                }
            }
            told
        }
    }
}

/// Anthropic's clients read one of these headers, OpenAI's the other.
fn add_id(response: &mut Response, id: &str) {
    if let Ok(value) = HeaderValue::from_str(id) {
        let headers = response.headers_mut();
        // An answer that was fetched from elsewhere has an id already.
        headers.entry("request-id").or_insert(value.clone());
        headers.entry("x-request-id").or_insert(value);
    }
}

/// Ids only help to find log lines; they guard nothing.
fn new_id() -> String {
    format!("req_{:024x}", fastrand::u128(..) >> 32)
}
