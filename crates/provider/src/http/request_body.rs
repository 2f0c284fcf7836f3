//! The body of a request: bytes in memory, or chunks as they are sent.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a request. Calls to models have theirs in memory; only what is forwarded as
/// it arrives, or consists of large parts, pays for a box.
pub(crate) enum RequestBody {
    Whole(Full<Bytes>),
    Stream(Pin<Box<dyn Body<Data = Bytes, Error = BoxError> + Send>>),
}

impl RequestBody {
    /// A body that is sent as it arrives.
    pub(crate) fn from_stream<B>(body: B) -> Self
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        RequestBody::Stream(Box::pin(body.map_err(Into::into)))
    }

    /// The chunks, one after the other, without copying them.
    pub(crate) fn from_chunks(chunks: impl IntoIterator<Item = Bytes>) -> Self {
        RequestBody::Stream(Box::pin(Chunks(chunks.into_iter().collect())))
    }
}

impl From<Bytes> for RequestBody {
    fn from(bytes: Bytes) -> Self {
        RequestBody::Whole(Full::new(bytes))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut *self {
            RequestBody::Whole(body) => Pin::new(body)
                .poll_frame(context)
                .map_err(|never| match never {}),
            RequestBody::Stream(body) => body.as_mut().poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            RequestBody::Whole(body) => body.is_end_stream(),
            RequestBody::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            RequestBody::Whole(body) => body.size_hint(),
            RequestBody::Stream(body) => body.size_hint(),
        }
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBody").finish_non_exhaustive()
    }
}

/// Chunks in memory. Their total size is known, so that it is sent as `content-length`.
struct Chunks(VecDeque<Bytes>);

impl Body for Chunks {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Poll::Ready(self.0.pop_front().map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|chunk| chunk.len() as u64).sum())
    }
}
