//! One connection to an upstream, driven by the call that waits for its response.
//!
//! A connection has no task of its own: the call that waits for bytes reads them. This
//! avoids passing every chunk between tasks, which would cost more than everything else
//! done with it, and dropping a call closes its connection immediately.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, Uri, header};
use http_body::{Body, Frame};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;

use super::connect::{BoxedSocket, ConnectError};
use super::pool::ConnectionPool;

/// Maximum bytes buffered ahead of the reader.
const READ_AHEAD_BYTES: usize = 64 << 10;
/// Chunks that are available together are merged up to about this size.
const CHUNK_BYTES: usize = 16 << 10;

/// A connection to an upstream.
pub(super) struct UpstreamConnection {
    to: Uri,
    sender: http1::SendRequest<Full<Bytes>>,
    connection: http1::Connection<BoxedSocket, Full<Bytes>>,
    open: bool,
    proxy: Option<Proxy>,
}

/// An HTTP proxy, which needs the absolute URI of the target.
struct Proxy {
    auth: Option<HeaderValue>,
}

/// Why sending a request failed.
pub(super) enum SendError {
    /// The connection was closed before any of it was sent.
    Unsent(Box<Request<Bytes>>),
    /// The connection broke.
    Broken(hyper::Error),
}

impl UpstreamConnection {
    pub(super) async fn open(
        to: &Uri,
        io: BoxedSocket,
    ) -> Result<Box<UpstreamConnection>, ConnectError> {
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
        mut request: Request<Bytes>,
    ) -> Result<Response<Incoming>, SendError> {
        let full_uri = request.uri().clone();
        self.set_request_target(&mut request);
        let answer = self.sender.try_send_request(request.map(Full::new));
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
                Some(unsent) => {
                    let (mut head, body) = unsent.into_parts();
                    head.uri = full_uri;
                    let body = body.into_inner().unwrap_or_default();
                    SendError::Unsent(Box::new(Request::from_parts(head, body)))
                }
                None => SendError::Broken(error.into_error()),
            })
    }

    /// An upstream gets the path only; a proxy gets the absolute URI.
    fn set_request_target(&self, request: &mut Request<Bytes>) {
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

    fn drive(&mut self, context: &mut Context<'_>) {
        // The result is reported to the call that waits for a response.
        if self.open && Pin::new(&mut self.connection).poll(context).is_ready() {
            self.open = false;
        }
    }
}

/// The body of a response. When read to its end, it returns its connection to the pool;
/// when dropped before, it closes it.
pub(crate) struct ResponseBody {
    body: Incoming,
    connection: Option<Box<UpstreamConnection>>,
    pool: Arc<ConnectionPool>,
    /// A frame that was read after a chunk and is returned next.
    held: Option<Result<Frame<Bytes>, hyper::Error>>,
    ended: bool,
}

impl ResponseBody {
    pub(super) fn new(
        body: Incoming,
        connection: Box<UpstreamConnection>,
        pool: &Arc<ConnectionPool>,
    ) -> Self {
        let mut answer = ResponseBody {
            ended: body.is_end_stream(),
            body,
            connection: Some(connection),
            pool: Arc::clone(pool),
            held: None,
        };
        answer.release_if_ended();
        answer
    }

    /// The next available frame.
    fn poll_next_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let mut nobody = Context::from_waker(Waker::noop());
        let mut frame = Pin::new(&mut self.body).poll_frame(&mut nobody);
        if frame.is_pending()
            && let Some(connection) = &mut self.connection
        {
            connection.drive(context);
            frame = Pin::new(&mut self.body).poll_frame(&mut nobody);
        }
        self.ended = matches!(frame, Poll::Ready(None)) || self.body.is_end_stream();
        frame
    }

    /// Appends to a chunk what else has arrived, so that data that arrived together is
    /// passed on together.
    fn coalesce(&mut self, first: Bytes, context: &mut Context<'_>) -> Bytes {
        let mut all = BytesMut::new();
        while first.len().max(all.len()) < CHUNK_BYTES {
            let Poll::Ready(Some(next)) = self.poll_next_frame(context) else {
                break;
            };
            match next.map(Frame::into_data) {
                Ok(Ok(data)) => {
                    if all.is_empty() {
                        all.reserve(CHUNK_BYTES + data.len());
                        all.extend_from_slice(&first);
                    }
                    all.extend_from_slice(&data);
                }
                Ok(Err(trailers)) => self.held = Some(Ok(trailers)),
                Err(error) => self.held = Some(Err(error)),
            }
            if self.held.is_some() {
                break;
            }
        }
        if all.is_empty() { first } else { all.freeze() }
    }

    /// Returns the connection to the pool once the response is complete, if it can be
    /// reused.
    fn release_if_ended(&mut self) {
        if self.ended
            && let Some(mut connection) = self.connection.take()
            && connection.is_ready()
        {
            self.pool.put(connection);
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = match self.held.take() {
            Some(held) => Some(held),
            None => std::task::ready!(self.poll_next_frame(context)),
        };
        let frame = match frame.map(|frame| frame.map(Frame::into_data)) {
            Some(Ok(Ok(data))) => Some(Ok(Frame::data(self.coalesce(data, context)))),
            Some(Ok(Err(trailers))) => Some(Ok(trailers)),
            Some(Err(error)) => {
                self.connection = None;
                self.ended = true;
                Some(Err(error))
            }
            None => None,
        };
        self.release_if_ended();
        Poll::Ready(frame)
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerBody")
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}
