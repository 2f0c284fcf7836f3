//! The way in: a request to a model goes straight to the gateway, all others go by the
//! router.
//!
//! A router looks for one of many patterns, and carries what it found along in boxes
//! and maps. Requests to models have a few fixed paths, and theirs is the road whose
//! cost counts.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use tower::{BoxError, Service, ServiceExt};

use crate::app::App;
use crate::context::{self, DrainedBody, Exchange};
use crate::error::HttpError;
use crate::route::gateway;

/// When it is worth trying a busy server again.
const BUSY_RETRY_SECONDS: u64 = 1;

/// All routes. Cheap to clone.
#[derive(Clone)]
pub struct HttpService {
    app: App,
    router: Router,
}

impl HttpService {
    pub(crate) fn new(app: App, router: Router) -> HttpService {
        HttpService { app, router }
    }

    /// Answers a request.
    pub(crate) async fn respond<B>(self, request: Request<B>) -> Response
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let request = request.map(DrainedBody::new);
        let path = request.uri().path();
        let Some(endpoint) = gateway::find_endpoint(request.method(), path) else {
            let Ok(response) = Box::pin(self.router.oneshot(request.map(Body::new))).await;
            return response;
        };
        let exchange = Exchange::begin(&request, endpoint.route().unwrap_or(path));
        let response = gateway::forward(&self.app, endpoint, request, exchange.id());
        let response = exchange.scope(response).await;
        exchange.end(response.unwrap_or_else(IntoResponse::into_response))
    }

    /// Answers a request on a connection for which there was no place: how the server
    /// does, or that it is busy.
    pub(crate) async fn respond_in_spare_slot<B>(self, request: Request<B>) -> Response
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let path = request.uri().path();
        if context::is_health(path) {
            return self.respond(request).await;
        }
        let exchange = Exchange::begin(&request, "busy");
        // What is left of its body is read, so that the answer is heard.
        drop(request.map(DrainedBody::new));
        exchange.end(busy_error().into_response())
    }
}

/// Every connection that the server takes has a request under way, or those of the
/// caller's address have.
fn busy_error() -> HttpError {
    HttpError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "connections-busy",
        "this server has as many requests under way as it takes connections, or as it takes \
         from one address; try again shortly",
    )
    .retry_after(BUSY_RETRY_SECONDS)
}

impl<B> Service<Request<B>> for HttpService
where
    B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async { Ok(service.respond(request).await) })
    }
}
