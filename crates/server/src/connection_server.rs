//! Serves HTTP on one connection, and closes it.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use axum::http::header::UPGRADE;
use axum::http::{Request, Version};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::bodies::{Gate, GatedStream};
use crate::connections::{Admission, CloseMode, ConnectionSlot, Takeover, TrackedBody, current};
use crate::http_service::HttpService;

/// Maximum size of a request head, and of the buffer for a client that does not read.
const MAX_BUFFER_BYTES: usize = 64 << 10;
/// Interval of HTTP/2 pings, and the time to answer one.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Concurrent requests on an HTTP/2 connection: the fewest that RFC 9113 recommends, as each may
/// keep a chunk of a response that its client does not read. Clients with more open another
/// connection.
const MAX_CONCURRENT_STREAMS: u32 = 100;
/// What a client may send of a request's body before it is read, as much as over HTTP/1. It is in
/// memory uncounted, and a connection's requests share a window of 1 MiB: one that waits for its
/// turn must not take all of it.
const STREAM_WINDOW_BYTES: u32 = 64 << 10;

/// Serves connections with the HTTP service.
#[derive(Clone)]
pub(crate) struct ConnectionServer {
    service: HttpService,
}

impl ConnectionServer {
    pub(crate) fn new(service: HttpService) -> ConnectionServer {
        ConnectionServer { service }
    }

    /// Serves one connection until it closes. Timeouts without a request are enforced by
    /// `connections`.
    pub(crate) fn serve_connection(
        &self,
        stream: TcpStream,
        admission: Admission,
    ) -> impl Future<Output = ()> + Send + use<> {
        // Small responses must not wait for more data.
        let _ = stream.set_nodelay(true);
        let slot = admission.slot();
        let http_service = self.service.clone();
        let state = admission.state().clone();
        // An upgraded connection keeps its slot until it is released.
        let (alive, mut taken_over) = mpsc::channel(1);
        let gate = Gate::open();
        let stream = GatedStream::new(stream, gate.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            let (http_service, active) = (http_service.clone(), state.begin_request());
            let is_http2 = request.version() == Version::HTTP_2;
            if request.headers().contains_key(UPGRADE) {
                let takeover = Takeover::new(state.clone(), gate.clone(), alive.clone());
                request.extensions_mut().insert(takeover);
            }
            async move {
                let Some(active) = active else {
                    // The connection is about to be dropped.
                    return std::future::pending().await;
                };
                // Boxed: hyper moves this future twice for each request, so it must be small.
                let work: Pin<Box<dyn Future<Output = Response> + Send>> = match slot {
                    ConnectionSlot::Regular => Box::pin(http_service.respond(request)),
                    ConnectionSlot::Spare => Box::pin(http_service.respond_in_spare_slot(request)),
                };
                let (mut response, active) = current::scope(active, work).await;
                let tenant_request = response.extensions_mut().remove();
                let tracked = |body| {
                    let body = TrackedBody::new(body, active, tenant_request);
                    if is_http2 {
                        body.holding_chunks()
                    } else {
                        body
                    }
                };
                Ok::<_, Infallible>(response.map(tracked))
            }
        });
        let connection = http_builder(slot)
            .serve_connection_with_upgrades(TokioIo::new(stream), service)
            .into_owned();
        async move {
            let ended = {
                let mut connection = pin!(connection);
                let mut finishing = false;
                let ended = poll_fn(|context| {
                    match admission.state().poll_close(context) {
                        None => {}
                        Some(CloseMode::Now) => return Poll::Ready(None),
                        Some(CloseMode::Gracefully) if finishing => {}
                        Some(CloseMode::Gracefully) => {
                            finishing = true;
                            connection.as_mut().graceful_shutdown();
                        }
                    }
                    connection.as_mut().poll(context).map(Some)
                });
                ended.await
            };
            match ended {
                Some(Ok(())) => {}
                Some(Err(error)) => tracing::debug!(%error, "connection ended with an error"),
                None => tracing::debug!("connection closed: idle, or its response was not read"),
            }
            taken_over.recv().await;
        }
    }
}

fn http_builder(slot: ConnectionSlot) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // The sweep over all connections enforces it, without a timer per request.
        .header_read_timeout(None)
        .keep_alive(slot == ConnectionSlot::Regular)
        .max_buf_size(MAX_BUFFER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .max_send_buf_size(MAX_BUFFER_BYTES)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS);
    builder
}
