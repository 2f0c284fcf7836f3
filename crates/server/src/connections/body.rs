//! Response body that tracks whether the client reads it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::ActiveRequest;
use crate::tenant_requests::TenantRequest;

/// Largest chunk passed on at once. Whether the client read the last chunk is not observable,
/// so this much counts as read when it is passed on.
const MAX_CHUNK_BYTES: usize = 64 << 10;

/// A body whose request is active until its last chunk was passed on.
pub(crate) struct TrackedBody<B> {
    body: B,
    /// The rest of a large chunk.
    rest: Bytes,
    active: Option<ActiveRequest>,
    tenant_request: Option<Arc<TenantRequest>>,
    /// Whether the request counts for its tenant while any of its chunks is in memory.
    holds_chunks: bool,
}

/// A chunk, and the request that it is of.
struct HeldChunk {
    bytes: Bytes,
    _tenant_request: Arc<TenantRequest>,
}

impl AsRef<[u8]> for HeldChunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl<B: Body<Data = Bytes>> TrackedBody<B> {
    pub(crate) fn new(
        body: B,
        mut active: Option<ActiveRequest>,
        tenant_request: Option<Arc<TenantRequest>>,
    ) -> TrackedBody<B> {
        if let Some(active) = &mut active {
            active.mark_answered();
            if body.is_end_stream() {
                active.release();
            }
        }
        TrackedBody {
            body,
            rest: Bytes::new(),
            active,
            tenant_request,
            holds_chunks: false,
        }
    }

    /// The same over HTTP/2, which keeps chunks that its client has no window for after the body
    /// has ended. A connection has many streams, so the request counts for its tenant until its
    /// last chunk was sent or dropped.
    pub(crate) fn holding_chunks(mut self) -> TrackedBody<B> {
        let own = self.active.as_mut().and_then(ActiveRequest::take_count);
        self.tenant_request = self.tenant_request.take().or(own.map(Arc::new));
        self.holds_chunks = true;
        self
    }
}

impl<B: Body<Data = Bytes> + Unpin> TrackedBody<B> {
    fn poll_chunk(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                other => return Poll::Ready(other),
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let chunk = self.rest.split_to(self.rest.len().min(MAX_CHUNK_BYTES));
        Poll::Ready(Some(Ok(Frame::data(self.held(chunk)))))
    }

    fn held(&self, bytes: Bytes) -> Bytes {
        match &self.tenant_request {
            Some(tenant_request) if self.holds_chunks && !bytes.is_empty() => {
                Bytes::from_owner(HeldChunk {
                    bytes,
                    _tenant_request: Arc::clone(tenant_request),
                })
            }
            _ => bytes,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for TrackedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        if let Some(active) = &mut this.active {
            active.on_chunk_read();
        }
        let frame = ready!(this.poll_chunk(context));
        let ended = frame.is_none() || this.is_end_stream();
        match &mut this.active {
            Some(active) if ended => active.release(),
            Some(active) => active.on_chunk_sent(),
            None => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let rest = self.rest.len() as u64;
        // The upper bound first: the lower one must not exceed it.
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(hint.lower().saturating_add(rest));
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::super::ConnectionState;
    use super::*;
    use http_body_util::Full;

    /// The next chunk, which is ready.
    fn next_len(body: &mut TrackedBody<Full<Bytes>>) -> usize {
        let mut context = Context::from_waker(std::task::Waker::noop());
        let Poll::Ready(Some(Ok(frame))) = Pin::new(body).poll_frame(&mut context) else {
            panic!("no piece");
        };
        frame.into_data().unwrap().len()
    }

    fn tracked(state: &Arc<ConnectionState>, bytes: usize) -> TrackedBody<Full<Bytes>> {
        let body = Full::new(Bytes::from(vec![0; bytes]));
        TrackedBody::new(body, state.begin_request(), None)
    }

    #[test]
    fn a_small_answer_leaves_its_connection_idle_when_it_is_given_away() {
        let state = Arc::new(ConnectionState::default());
        let mut body = tracked(&state, MAX_CHUNK_BYTES);
        assert!(!state.activity().is_idle());
        assert_eq!(next_len(&mut body), MAX_CHUNK_BYTES);
        assert!(body.is_end_stream() && state.activity().is_idle());
        assert!(!state.is_unused());
        let empty = tracked(&state, 0);
        assert!(empty.is_end_stream() && state.activity().is_idle());
    }

    #[test]
    fn a_large_answer_in_one_piece_is_under_way_until_its_last_part() {
        let state = Arc::new(ConnectionState::default());
        let bytes = 2 * MAX_CHUNK_BYTES + 1;
        let mut body = tracked(&state, bytes);
        let mut left = bytes;
        for _ in 0..2 {
            assert_eq!(body.size_hint().exact(), Some(left as u64));
            let before = state.activity();
            left -= next_len(&mut body);
            assert!(!body.is_end_stream() && state.activity().is_unread());
            assert_eq!(
                state.activity().made_no_progress_since(before),
                left + MAX_CHUNK_BYTES == bytes,
                "only the first piece had none before it to be read"
            );
        }
        assert_eq!(body.size_hint().exact(), Some(1));
        assert_eq!(next_len(&mut body), 1);
        assert!(body.is_end_stream() && state.activity().is_idle());
    }

    #[test]
    fn an_answer_that_is_given_up_unread_is_no_progress() {
        let state = Arc::new(ConnectionState::default());
        for bytes in [1, 2 * MAX_CHUNK_BYTES] {
            let before = state.activity();
            let mut body = tracked(&state, bytes);
            next_len(&mut body);
            drop(body);
            assert!(state.activity().made_no_progress_since(before));
            assert!(state.activity().is_idle());
        }
    }
}
