//! Reads response bodies, with an idle timeout.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use prowess_wire::neutral::{ApiError, ErrorKind};
use tokio::time::{Instant, Sleep};

use super::client::root_cause;
use crate::error::CallError;

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

    pub(crate) async fn next_chunk(&mut self) -> Option<Result<Bytes, BodyError>> {
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
pub(crate) fn concat_chunks(mut chunks: Vec<Bytes>) -> Bytes {
    match (chunks.pop(), chunks.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            chunks.extend(last);
            chunks.concat().into()
        }
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
