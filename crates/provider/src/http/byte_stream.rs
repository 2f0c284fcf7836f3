//! The body of a response that is passed on to a client.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use prowess_wire::neutral::ApiError;

use super::body::{BodyError, IdleTimeoutBody, mid_stream_error};
use super::response_body::ResponseBody;
use crate::limiter::CallPermit;

/// The bytes of an upstream's response, as they arrive. Dropping it closes the
/// connection, which stops the upstream.
///
/// An error is the last item and not part of the bytes. The bytes before it may end
/// anywhere, even inside an event.
pub struct ByteStream {
    source: ByteSource,
    /// For errors; empty for bytes in memory, which have none.
    provider: String,
    permit: Option<CallPermit>,
}

enum ByteSource {
    Upstream(Box<IdleTimeoutBody<ResponseBody>>),
    Prefixed(Bytes, Box<IdleTimeoutBody<ResponseBody>>),
    Buffered(Bytes),
    Ended,
}

impl ByteStream {
    pub(crate) fn new(body: IdleTimeoutBody<ResponseBody>, provider: &str) -> Self {
        ByteStream::from_source(ByteSource::Upstream(Box::new(body)), provider.to_owned())
    }

    /// A body whose start, which may be empty, has been read.
    pub(crate) fn with_prefix(
        start: Bytes,
        rest: IdleTimeoutBody<ResponseBody>,
        provider: &str,
    ) -> Self {
        if start.is_empty() {
            return ByteStream::new(rest, provider);
        }
        let source = ByteSource::Prefixed(start, Box::new(rest));
        ByteStream::from_source(source, provider.to_owned())
    }

    pub(crate) fn from_bytes(bytes: Bytes) -> Self {
        ByteStream::from_source(ByteSource::Buffered(bytes), String::new())
    }

    fn from_source(source: ByteSource, provider: String) -> Self {
        ByteStream {
            source,
            provider,
            permit: None,
        }
    }

    /// The whole body, if it was read before the client got any of it; otherwise the stream.
    ///
    /// # Errors
    /// When there may be more to read.
    pub fn into_complete(self) -> Result<Bytes, ByteStream> {
        match self.source {
            ByteSource::Buffered(bytes) => Ok(bytes),
            ByteSource::Ended => Ok(Bytes::new()),
            ByteSource::Upstream(_) | ByteSource::Prefixed(..) => Err(self),
        }
    }

    /// Holds a call permit until it is dropped.
    pub(crate) fn with_permit(mut self, permit: Option<CallPermit>) -> Self {
        self.permit = permit;
        self
    }
}

impl Stream for ByteStream {
    type Item = Result<Bytes, Box<ApiError>>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Box<ApiError>>>> {
        let (item, next) = match std::mem::replace(&mut self.source, ByteSource::Ended) {
            ByteSource::Upstream(mut body) => match body.poll_chunk(context) {
                Poll::Pending => {
                    self.source = ByteSource::Upstream(body);
                    return Poll::Pending;
                }
                Poll::Ready(Some(Ok(chunk))) => (Some(Ok(chunk)), ByteSource::Upstream(body)),
                Poll::Ready(end) => (end, ByteSource::Ended),
            },
            ByteSource::Prefixed(start, rest) => (Some(Ok(start)), ByteSource::Upstream(rest)),
            ByteSource::Buffered(bytes) => (Some(Ok(bytes)), ByteSource::Ended),
            ByteSource::Ended => (None, ByteSource::Ended),
        };
        self.source = next;
        let to_api_error = |error: BodyError| Box::new(mid_stream_error(&error, &self.provider));
        Poll::Ready(item.map(|item| item.map_err(to_api_error)))
    }
}

impl fmt::Debug for ByteStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteStream")
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}
