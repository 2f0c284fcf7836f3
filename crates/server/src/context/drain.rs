//! Reads request bodies to their end after the handler has stopped reading.
//!
//! An error response may be ready long before a client has sent its upload. If the connection
//! were closed then, many clients would see a broken connection and never read the response;
//! so the rest of the body is read and discarded, up to a limit.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, SizeHint};

/// Limits on reading the rest of a body, in bytes and time.
const MAX_DRAIN_BYTES: usize = 64 << 20;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);

/// A body whose rest is read when it is dropped.
pub(crate) struct DrainedBody<B: Drainable>(Option<B>);

/// A body that can be read after its handler has ended.
pub(crate) trait Drainable: Body<Data = Bytes> + Send + Unpin + 'static {}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> Drainable for B {}

impl<B: Drainable> DrainedBody<B> {
    pub(crate) fn new(body: B) -> DrainedBody<B> {
        DrainedBody(Some(body))
    }
}

impl<B: Drainable> Body for DrainedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match &mut self.0 {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl<B: Drainable> Drop for DrainedBody<B> {
    fn drop(&mut self) {
        let Some(rest) = self.0.take().filter(|rest| !rest.is_end_stream()) else {
            return;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // Its errors do not matter.
            runtime.spawn(async {
                tokio::time::timeout(DRAIN_TIMEOUT, drain(rest))
                    .await
                    .is_ok()
            });
        }
    }
}

async fn drain<B: Drainable>(mut rest: B) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = rest.frame().await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if bytes > MAX_DRAIN_BYTES {
            return;
        }
    }
}
