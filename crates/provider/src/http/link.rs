//! One connection to an upstream, driven by whoever waits for its answer.
//!
//! No task of its own stands behind a connection: the call that waits for bytes reads
//! them. That saves every piece of an answer a hand-over between tasks, which costs
//! more than all else that is done with it, and dropping a call closes its connection
//! there and then.

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

use super::dial::{DialError, Io};
use super::pool::Pool;

/// The most that is read ahead of whoever reads the answer.
const READ_AHEAD: usize = 64 << 10;
/// Pieces that are there at once are given as one of about this size.
const PIECE: usize = 16 << 10;

/// A connection.
pub(super) struct Link {
    to: Uri,
    sender: http1::SendRequest<Full<Bytes>>,
    connection: http1::Connection<Io, Full<Bytes>>,
    open: bool,
    proxy: Option<Proxy>,
}

/// A proxy that is told the whole address of what it shall fetch.
struct Proxy {
    auth: Option<HeaderValue>,
}

/// Why a request was not answered.
pub(super) enum Failed {
    /// The connection was closed before any of it was sent.
    Unsent(Box<Request<Bytes>>),
    /// The connection broke.
    Broken(hyper::Error),
}

impl Link {
    pub(super) async fn open(to: &Uri, io: Io) -> Result<Box<Link>, DialError> {
        let mut http = http1::Builder::new();
        let (sender, connection) = http.max_buf_size(READ_AHEAD).handshake(io).await?;
        Ok(Box::new(Link {
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

    /// Whether it leads there.
    pub(super) fn leads_to(&self, uri: &Uri) -> bool {
        self.to.authority() == uri.authority() && self.to.scheme() == uri.scheme()
    }

    /// Whether a request can be sent. Notices what happened while nobody looked.
    pub(super) fn is_ready(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.open && self.sender.is_ready()
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn ask(
        &mut self,
        mut request: Request<Bytes>,
    ) -> Result<Response<Incoming>, Failed> {
        let whole = request.uri().clone();
        self.address(&mut request);
        let answer = self.sender.try_send_request(request.map(Full::new));
        let mut answer = std::pin::pin!(answer);
        let answered = std::future::poll_fn(|context| {
            self.drive(context);
            // Only driving the connection brings an answer, so nothing need be woken.
            answer
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
        });
        answered
            .await
            .map_err(|mut error| match error.take_message() {
                Some(unsent) => {
                    let (mut head, body) = unsent.into_parts();
                    head.uri = whole;
                    let body = body.into_inner().unwrap_or_default();
                    Failed::Unsent(Box::new(Request::from_parts(head, body)))
                }
                None => Failed::Broken(error.into_error()),
            })
    }

    /// An upstream is told the path only; a proxy the whole address.
    fn address(&self, request: &mut Request<Bytes>) {
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
        // How it ended is told to whoever waits for an answer.
        if self.open && Pin::new(&mut self.connection).poll(context).is_ready() {
            self.open = false;
        }
    }
}

/// The body of an answer. Read to its end it leaves its connection for the next call;
/// dropped before, it closes it.
pub(crate) struct AnswerBody {
    body: Incoming,
    link: Option<Box<Link>>,
    pool: Arc<Pool>,
    /// What came after a piece that was given first.
    held: Option<Result<Frame<Bytes>, hyper::Error>>,
    ended: bool,
}

impl AnswerBody {
    pub(super) fn new(body: Incoming, link: Box<Link>, pool: &Arc<Pool>) -> Self {
        let mut answer = AnswerBody {
            ended: body.is_end_stream(),
            body,
            link: Some(link),
            pool: Arc::clone(pool),
            held: None,
        };
        answer.finish_if_ended();
        answer
    }

    /// The next piece that is there or comes by.
    fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let mut nobody = Context::from_waker(Waker::noop());
        let mut piece = Pin::new(&mut self.body).poll_frame(&mut nobody);
        if piece.is_pending()
            && let Some(link) = &mut self.link
        {
            link.drive(context);
            piece = Pin::new(&mut self.body).poll_frame(&mut nobody);
        }
        self.ended = matches!(piece, Poll::Ready(None)) || self.body.is_end_stream();
        piece
    }

    /// Adds to a piece what else is there already, so that what came at once also
    /// travels on at once.
    fn gather(&mut self, first: Bytes, context: &mut Context<'_>) -> Bytes {
        let mut all = BytesMut::new();
        while first.len().max(all.len()) < PIECE {
            let Poll::Ready(Some(next)) = self.poll_piece(context) else {
                break;
            };
            match next.map(Frame::into_data) {
                Ok(Ok(data)) => {
                    if all.is_empty() {
                        all.reserve(PIECE + data.len());
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

    /// Gives the connection back once the answer has ended, if it can be used again.
    fn finish_if_ended(&mut self) {
        if self.ended
            && let Some(mut link) = self.link.take()
            && link.is_ready()
        {
            self.pool.put(link);
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let piece = match self.held.take() {
            Some(held) => Some(held),
            None => std::task::ready!(self.poll_piece(context)),
        };
        let piece = match piece.map(|piece| piece.map(Frame::into_data)) {
            Some(Ok(Ok(data))) => Some(Ok(Frame::data(self.gather(data, context)))),
            Some(Ok(Err(trailers))) => Some(Ok(trailers)),
            Some(Err(error)) => {
                self.link = None;
                self.ended = true;
                Some(Err(error))
            }
            None => None,
        };
        self.finish_if_ended();
        Poll::Ready(piece)
    }
}

impl fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerBody")
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}
