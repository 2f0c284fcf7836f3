//! The HTTP service: calls to models go straight to the gateway, all other requests to the
//! router.
//!
//! A router matches one of many patterns and carries the result in boxes and maps. Calls to
//! models have a few fixed paths, and only their overhead matters.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use tower::{BoxError, Service, ServiceExt};

use crate::app::App;
use crate::context::{self, DrainedBody, Exchange};
use crate::error::HttpError;
use crate::route::{gateway, router, table};

/// Retry delay sent when the server is busy.
const BUSY_RETRY_SECONDS: u64 = 1;

/// The HTTP service with all routes. Each request has the configuration that is current when it
/// begins. Cheap to clone.
#[derive(Clone)]
pub struct HttpService(Arc<ServiceState>);

struct ServiceState {
    app: App,
    pages: Option<Router>,
    /// The newest router that was needed.
    router: ArcSwap<BuiltRouter>,
    building: Mutex<()>,
}

/// A router with the app of one configuration.
struct BuiltRouter {
    generation: u64,
    router: Router,
}

impl App {
    /// The HTTP service with all routes.
    pub fn service(&self) -> HttpService {
        self.service_with_pages(None)
    }

    /// The HTTP service with all routes, and with pages for browsers besides them.
    pub fn service_with_pages(&self, pages: Option<Router>) -> HttpService {
        let built = BuiltRouter::build(self.current(), pages.clone());
        HttpService(Arc::new(ServiceState {
            app: self.clone(),
            pages,
            router: ArcSwap::from_pointee(built),
            building: Mutex::default(),
        }))
    }
}

impl BuiltRouter {
    fn build(app: App, pages: Option<Router>) -> BuiltRouter {
        BuiltRouter {
            generation: app.generation(),
            router: router::build(app, pages),
        }
    }
}

impl ServiceState {
    /// The router of the current configuration, which is built with the first request that
    /// needs it.
    fn router(&self) -> Router {
        let newest = self.app.current().generation();
        let built = self.router.load();
        if built.generation >= newest {
            return built.router.clone();
        }
        let _one = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let app = self.app.current();
        let built = self.router.load();
        if built.generation >= app.generation() {
            return built.router.clone();
        }
        let built = BuiltRouter::build(app, self.pages.clone());
        let router = built.router.clone();
        self.router.store(Arc::new(built));
        router
    }
}

impl HttpService {
    /// Responds to a request.
    pub(crate) async fn respond<B>(self, request: Request<B>) -> Response
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let request = request.map(DrainedBody::new);
        let path = request.uri().path();
        let Some(endpoint) = table::find_endpoint(request.method(), path) else {
            let router = self.0.router();
            let Ok(response) = Box::pin(router.oneshot(request.map(Body::new))).await;
            return response;
        };
        let app = self.0.app.current();
        let route = endpoint.route().unwrap_or(path);
        let exchange = Exchange::begin_in(endpoint.client(), &request, route);
        let response = gateway::forward(&app, endpoint, request, exchange.id());
        let response = exchange.scope(response).await;
        exchange.end(response.unwrap_or_else(IntoResponse::into_response))
    }

    /// Responds to a request on a connection without a regular slot: health checks, and 503
    /// for everything else.
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
        // Read the rest of the body, so that the client receives the response.
        drop(request.map(DrainedBody::new));
        exchange.end(busy_error().into_response())
    }
}

/// All connections, or all of the client's address, have active requests.
fn busy_error() -> HttpError {
    HttpError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "connections-busy",
        "too many concurrent connections to this server, or from your address; try again shortly",
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
