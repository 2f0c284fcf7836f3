//! Limits how much of a body a parser may read before it produces an item.
//!
//! A parser that reads until it finds a delimiter holds everything read so far in memory, and
//! may search all of it again with every byte. So its body passes a gate, which is closed
//! while the parser can still produce an item, and lets a bounded number of bytes pass when it
//! needs more.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// The gate of one body, shared by the body and the reader of the parser.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    received: AtomicU64,
    /// No frame passes once this many bytes were received.
    allowed: AtomicU64,
    /// Whether what still arrives is dropped.
    is_dropping: AtomicBool,
}

/// The parser needs more bytes for its next item than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemTooLong;

impl Gate {
    /// A gate that is open until a parser waits at it.
    pub(crate) fn open() -> Gate {
        let gate = Gate::default();
        gate.0.allowed.store(u64::MAX, Ordering::Relaxed);
        gate
    }

    /// Has everything that still arrives read and dropped, so that its sender, who reads when all
    /// is sent, gets what it was told.
    pub(crate) fn drop_rest(&self) {
        self.0.is_dropping.store(true, Ordering::Relaxed);
    }

    /// Wraps a body so that its frames pass this gate.
    pub(crate) fn guard<B>(&self, body: B) -> GatedBody<B> {
        let gate = self.clone();
        GatedBody { body, gate }
    }

    /// Bytes that have passed.
    pub(crate) fn received(&self) -> u64 {
        self.0.received.load(Ordering::Relaxed)
    }

    /// The next item of the body's parser, which may read up to `max_bytes` more, plus the
    /// rest of the frame in which they end. Buffered bytes are used first.
    pub(crate) async fn next_item<F: Future>(
        &self,
        parser: F,
        max_bytes: u64,
    ) -> Result<F::Output, ItemTooLong> {
        let mut parser = pin!(parser);
        self.allow(0);
        let mut is_shut = true;
        poll_fn(|context| {
            if is_shut {
                if let Poll::Ready(item) = parser.as_mut().poll(context) {
                    return Poll::Ready(Ok(item));
                }
                self.allow(max_bytes);
                is_shut = false;
            }
            match parser.as_mut().poll(context) {
                Poll::Ready(item) => Poll::Ready(Ok(item)),
                Poll::Pending if self.is_shut() => Poll::Ready(Err(ItemTooLong)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    fn allow(&self, bytes: u64) {
        let allowed = self.received().saturating_add(bytes);
        self.0.allowed.store(allowed, Ordering::Relaxed);
    }

    pub(super) fn is_dropping(&self) -> bool {
        self.0.is_dropping.load(Ordering::Relaxed)
    }

    /// Some bytes have passed.
    pub(super) fn count(&self, bytes: usize) {
        self.0.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn is_shut(&self) -> bool {
        self.received() >= self.0.allowed.load(Ordering::Relaxed)
    }
}

/// A body whose frames pass a gate.
#[derive(Debug)]
pub(crate) struct GatedBody<B> {
    body: B,
    gate: Gate,
}

impl<B: Body<Data = Bytes> + Unpin> Body for GatedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        // No waker is needed: `Gate::next_item` polls again or gives up.
        if this.gate.is_shut() {
            return Poll::Pending;
        }
        let frame = ready!(Pin::new(&mut this.body).poll_frame(context));
        let data = frame.as_ref().and_then(|frame| frame.as_ref().ok());
        if let Some(data) = data.and_then(Frame::data_ref) {
            this.gate.count(data.len());
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{StreamExt, stream};
    use http_body_util::{BodyExt, BodyStream, StreamBody};

    /// A body of ready frames of ten bytes.
    fn ten_byte_frames(frames: usize) -> impl Body<Data = Bytes, Error = std::io::Error> + Unpin {
        let frame = || Ok(Frame::data(Bytes::from_static(b"0123456789")));
        StreamBody::new(stream::iter((0..frames).map(move |_| frame())))
    }

    #[tokio::test]
    async fn a_parser_that_never_finds_anything_is_stopped_at_its_bound() {
        let gate = Gate::default();
        let mut frames = BodyStream::new(gate.guard(ten_byte_frames(1_000)));
        let parser = async { while frames.next().await.is_some() {} };
        assert_eq!(gate.next_item(parser, 95).await, Err(ItemTooLong));
        assert_eq!(gate.received(), 100);
    }

    #[tokio::test]
    async fn a_parser_uses_up_what_it_has_before_it_is_given_more() {
        let gate = Gate::default();
        let mut body = gate.guard(ten_byte_frames(3));
        assert!(gate.next_item(body.frame(), 10).await.unwrap().is_some());
        // An item that is already buffered.
        assert_eq!(gate.next_item(async { 1 }, 10).await, Ok(1));
        assert_eq!(gate.received(), 10);
        // Until the end, however often it is called.
        let rest = async {
            for _ in 0..2 {
                gate.next_item(body.frame(), 10)
                    .await
                    .unwrap()
                    .unwrap()
                    .unwrap();
            }
            gate.next_item(body.frame(), 10).await.unwrap().is_none()
        };
        assert!(rest.await);
        assert_eq!(gate.received(), 30);
    }
}
