//! Response bodies: chunks as they arrive, with an idle timeout.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http_body::Body;
use prowess_wire::neutral::{ApiError, ErrorKind};
use tokio::time::{Instant, Sleep};

use super::client::root_cause;
use super::connection::ResponseBody;
use crate::error::CallError;
use crate::limiter::CallPermit;

/// A body that fails when no data arrives for too long.
#[derive(Debug)]
pub(crate) struct IdleTimeoutBody<B> {
    body: B,
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    // The timer is reset only when there is something to wait for.
    waiting: bool,
}

impl<B> IdleTimeoutBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::error::Error,
{
    pub(crate) fn new(body: B, limit: Duration) -> Self {
        IdleTimeoutBody {
            body,
            limit,
            timer: None,
            waiting: false,
        }
    }

    pub(crate) fn poll_chunk(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Some(Err(BodyError::Broken(root_cause(&error)))));
                }
                Poll::Ready(Some(Ok(frame))) => {
                    self.waiting = false;
                    // Model responses use no trailers.
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
                Poll::Pending => {
                    ready!(self.poll_idle_timeout(context));
                    return Poll::Ready(Some(Err(BodyError::Idle(self.limit))));
                }
            }
        }
    }

    fn poll_idle_timeout(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let until = Instant::now() + self.limit;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if !self.waiting {
            self.waiting = true;
            timer.as_mut().reset(until);
        }
        timer.as_mut().poll(context)
    }

    async fn next_chunk(&mut self) -> Option<Result<Bytes, BodyError>> {
        std::future::poll_fn(|context| self.poll_chunk(context)).await
    }
}

/// Why a body ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BodyError {
    Broken(String),
    Idle(Duration),
}

impl BodyError {
    pub(crate) fn to_call_error(&self, provider: &str) -> CallError {
        match self {
            BodyError::Broken(reason) => CallError::Unreachable {
                provider: provider.to_owned(),
                reason: format!("the connection broke during the response: {reason}"),
            },
            BodyError::Idle(after) => CallError::Timeout {
                provider: provider.to_owned(),
                what: "more data",
                after: *after,
            },
        }
    }
}

/// The whole body if it has at most `limit` bytes; otherwise `None`.
pub(crate) async fn read_all<B>(
    body: &mut IdleTimeoutBody<B>,
    limit: usize,
) -> Result<Option<Vec<u8>>, BodyError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::error::Error,
{
    let mut all = Vec::new();
    while let Some(chunk) = body.next_chunk().await {
        let chunk = chunk?;
        if all.len() + chunk.len() > limit {
            return Ok(None);
        }
        all.extend_from_slice(&chunk);
    }
    Ok(Some(all))
}

/// The start of a body, `limit` bytes or a little more, and whether it is complete.
pub(crate) async fn read_ahead<B>(
    body: &mut IdleTimeoutBody<B>,
    limit: usize,
) -> Result<(Bytes, bool), BodyError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::error::Error,
{
    let mut read = Vec::new();
    let mut size = 0;
    while size < limit {
        match body.next_chunk().await.transpose()? {
            Some(chunk) => {
                size += chunk.len();
                read.push(chunk);
            }
            None => return Ok((concat_chunks(read), true)),
        }
    }
    Ok((concat_chunks(read), false))
}

/// Most responses arrive in one chunk, which is not copied.
fn concat_chunks(mut chunks: Vec<Bytes>) -> Bytes {
    match (chunks.pop(), chunks.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            chunks.extend(last);
            chunks.concat().into()
        }
    }
}

/// The bytes of an upstream's response, as they arrive. Dropping it closes the
/// connection, which stops the upstream.
///
/// An error is the last item and not part of the bytes. The bytes before it may end
/// anywhere, even inside an event.
pub struct ByteStream {
    source: ByteSource,
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
        ByteStream::from_source(ByteSource::Upstream(Box::new(body)), provider)
    }

    /// A body whose start has been read.
    pub(crate) fn with_prefix(
        start: Bytes,
        rest: IdleTimeoutBody<ResponseBody>,
        provider: &str,
    ) -> Self {
        ByteStream::from_source(ByteSource::Prefixed(start, Box::new(rest)), provider)
    }

    pub(crate) fn from_bytes(bytes: Bytes, provider: &str) -> Self {
        ByteStream::from_source(ByteSource::Buffered(bytes), provider)
    }

    fn from_source(source: ByteSource, provider: &str) -> Self {
        ByteStream {
            source,
            provider: provider.to_owned(),
            permit: None,
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

/// The error sent to a client in the middle of a response.
pub(crate) fn mid_stream_error(error: &BodyError, provider: &str) -> ApiError {
    let error = error.to_call_error(provider);
    ApiError {
        code: Some("upstream-stream-cut".to_owned()),
        ..match error {
            CallError::Timeout { .. } => error.to_api_error(),
            _ => ApiError {
                status: 502,
                ..ApiError::new(ErrorKind::Api, error.to_string())
            },
        }
    }
}

impl fmt::Debug for ByteStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteStream")
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body::Frame;

    use super::*;

    /// Yields a byte after each of these pauses, then stays pending.
    struct Paced(Vec<Duration>, Option<Pin<Box<Sleep>>>);

    impl Body for Paced {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let Some(pause) = self.0.first().copied() else {
                return Poll::Pending;
            };
            let timer = self
                .1
                .get_or_insert_with(|| Box::pin(tokio::time::sleep(pause)));
            ready!(timer.as_mut().poll(context));
            self.1 = None;
            self.0.remove(0);
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_take_for_ever_as_long_as_it_grows() {
        let hour = Duration::from_secs(3600);
        let mut body =
            IdleTimeoutBody::new(Paced(vec![hour; 3], None), hour + Duration::from_secs(1));
        for _ in 0..3 {
            assert_eq!(body.next_chunk().await.unwrap().unwrap(), "x");
        }
        let start = Instant::now();
        let end = body.next_chunk().await.unwrap().unwrap_err();
        assert_eq!(end, BodyError::Idle(hour + Duration::from_secs(1)));
        assert_eq!(start.elapsed().as_secs(), 3601);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_is_read_whole_only_up_to_a_limit() {
        let second = Duration::from_secs(1);
        let mut body = IdleTimeoutBody::new(Paced(vec![second; 5], None), second * 2);
        assert_eq!(read_all(&mut body, 3).await, Ok(None));
    }
}
