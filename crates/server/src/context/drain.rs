//! Bodies that are read to their end even when nobody wants them.
//!
//! A refusal may be ready long before a client has sent all of its upload. If the
//! connection were closed then, many clients would see it break and never read why;
//! so what is left of the body is read and dropped, up to a bound.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// The most that is read of a body nobody wants, and the longest that takes.
const BYTES: usize = 64 << 20;
const TIME: Duration = Duration::from_secs(20);

/// A body whose rest is read when it is dropped.
pub(super) struct Drained(Body);

impl Drained {
    pub(super) fn wrap(body: Body) -> Body {
        match body.is_end_stream() {
            true => body,
            false => Body::new(Drained(body)),
        }
    }
}

impl HttpBody for Drained {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.0).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

impl Drop for Drained {
    fn drop(&mut self) {
        let rest = std::mem::take(&mut self.0);
        if rest.is_end_stream() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(tokio::time::timeout(TIME, read(rest)));
        }
    }
}

async fn read(mut rest: Body) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = rest.frame().await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if bytes > BYTES {
            return;
        }
    }
}
