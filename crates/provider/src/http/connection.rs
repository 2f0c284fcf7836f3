//! One connection to an upstream, driven by the call that waits for its response.
//!
//! A connection has no task of its own: the call that waits for bytes reads them. This
//! avoids passing every chunk between tasks, which would cost more than everything else
//! done with it, and dropping a call closes its connection immediately.

use std::pin::Pin;
use std::task::{Context, Waker};

use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, Uri, header};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};

use super::request_body::RequestBody;

/// Maximum bytes buffered ahead of the reader.
const READ_AHEAD_BYTES: usize = 64 << 10;

/// A byte stream to an upstream, encrypted or not.
pub(super) type BoxedSocket = Box<dyn UpstreamSocket>;

/// Any byte stream.
pub(super) trait UpstreamSocket: Read + Write + Send + Unpin {}

impl<T: Read + Write + Send + Unpin> UpstreamSocket for T {}

/// A connection to an upstream.
pub(super) struct UpstreamConnection {
    to: Uri,
    sender: http1::SendRequest<RequestBody>,
    connection: http1::Connection<BoxedSocket, RequestBody>,
    open: bool,
    proxy: Option<Proxy>,
}

/// An HTTP proxy, which needs the absolute URI of the target.
struct Proxy {
    auth: Option<HeaderValue>,
}

/// Why sending a request failed.
pub(super) enum SendError {
    /// The connection was closed before any of it was sent. Its URI may be the path only.
    Unsent(Box<Request<RequestBody>>),
    /// The connection broke.
    Broken(hyper::Error),
}

impl UpstreamConnection {
    pub(super) async fn open(
        to: &Uri,
        io: BoxedSocket,
    ) -> Result<Box<UpstreamConnection>, hyper::Error> {
        let mut http = http1::Builder::new();
        let (sender, connection) = http.max_buf_size(READ_AHEAD_BYTES).handshake(io).await?;
        Ok(Box::new(UpstreamConnection {
            to: to.clone(),
            sender,
            connection,
            open: true,
            proxy: None,
        }))
    }

    pub(super) fn through_proxy(mut self: Box<Self>, auth: Option<HeaderValue>) -> Box<Self> {
        self.proxy = Some(Proxy { auth });
        self
    }

    /// Whether it connects to the host of this URI.
    pub(super) fn connects_to(&self, uri: &Uri) -> bool {
        self.to.authority() == uri.authority() && self.to.scheme() == uri.scheme()
    }

    /// Whether a request can be sent. Also processes what happened while it was idle.
    pub(super) fn is_ready(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.open && self.sender.is_ready()
    }

    /// Sends a request and waits for the response headers.
    pub(super) async fn send(
        &mut self,
        mut request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, SendError> {
        self.set_request_target(&mut request);
        let answer = self.sender.try_send_request(request);
        let mut answer = std::pin::pin!(answer);
        let answered = std::future::poll_fn(|context| {
            self.drive(context);
            // Only driving the connection makes progress, so no waker is needed.
            answer
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
        });
        answered
            .await
            .map_err(|mut error| match error.take_message() {
                Some(unsent) => SendError::Unsent(Box::new(unsent)),
                None => SendError::Broken(error.into_error()),
            })
    }

    /// An upstream gets the path only; a proxy gets the absolute URI.
    fn set_request_target(&self, request: &mut Request<RequestBody>) {
        match &self.proxy {
            Some(proxy) => {
                if let Some(auth) = &proxy.auth {
                    let headers = request.headers_mut();
                    headers.insert(header::PROXY_AUTHORIZATION, auth.clone());
                }
            }
            None => {
                let path = request.uri().path_and_query().cloned();
                let path = path.unwrap_or(PathAndQuery::from_static("/"));
                *request.uri_mut() = Uri::from(path);
            }
        }
    }

    /// Reads and writes what is possible now.
    pub(super) fn drive(&mut self, context: &mut Context<'_>) {
        // The result is reported to the call that waits for a response.
        if self.open && Pin::new(&mut self.connection).poll(context).is_ready() {
            self.open = false;
        }
    }
}
