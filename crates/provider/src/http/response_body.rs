//! The body of a response, which owns its connection until it has been read.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use hyper::body::Incoming;

use super::connection::UpstreamConnection;
use super::pool::ConnectionPool;

/// Chunks that are available together are merged up to about this size.
const CHUNK_BYTES: usize = 16 << 10;

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
        f.debug_struct("ResponseBody")
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}
