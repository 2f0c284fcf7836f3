//! The body of an answer, which says whether it waits for its client to read.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::Underway;
use crate::requests::TenantRequest;

/// The most that is given away at once. Whether the last piece of an answer is read cannot
/// be seen, so that this much of it counts as sent when it is given away.
const MAX_PIECE_BYTES: usize = 64 << 10;

/// A body whose request is under way until its last piece was given away.
pub(crate) struct Tracked<B> {
    body: B,
    /// What is left of a large piece.
    rest: Bytes,
    underway: Option<Underway>,
    #[expect(dead_code, reason = "kept for its drop")]
    of_tenant: Option<Arc<TenantRequest>>,
}

impl<B: Body<Data = Bytes>> Tracked<B> {
    pub(crate) fn new(
        body: B,
        mut underway: Option<Underway>,
        of_tenant: Option<Arc<TenantRequest>>,
    ) -> Tracked<B> {
        if let Some(underway) = &mut underway {
            underway.answered();
            if body.is_end_stream() {
                underway.release();
            }
        }
        Tracked {
            body,
            rest: Bytes::new(),
            underway,
            of_tenant,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Tracked<B> {
    fn poll_piece(
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
        let piece = self.rest.split_to(self.rest.len().min(MAX_PIECE_BYTES));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Tracked<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        if let Some(underway) = &mut this.underway {
            underway.wanted();
        }
        let frame = ready!(this.poll_piece(context));
        let ended = frame.is_none() || this.is_end_stream();
        match &mut this.underway {
            Some(underway) if ended => underway.release(),
            Some(underway) => underway.gave(),
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
    use super::super::Link;
    use super::*;
    use http_body_util::Full;

    /// The next piece, which is there.
    fn next(body: &mut Tracked<Full<Bytes>>) -> usize {
        let mut context = Context::from_waker(std::task::Waker::noop());
        let Poll::Ready(Some(Ok(frame))) = Pin::new(body).poll_frame(&mut context) else {
            panic!("no piece");
        };
        frame.into_data().unwrap().len()
    }

    fn tracked(link: &Arc<Link>, bytes: usize) -> Tracked<Full<Bytes>> {
        let body = Full::new(Bytes::from(vec![0; bytes]));
        Tracked::new(body, link.begin(), None)
    }

    #[test]
    fn a_small_answer_leaves_its_connection_idle_when_it_is_given_away() {
        let link = Arc::new(Link::default());
        let mut body = tracked(&link, MAX_PIECE_BYTES);
        assert!(!link.activity().is_idle());
        assert_eq!(next(&mut body), MAX_PIECE_BYTES);
        assert!(body.is_end_stream() && link.activity().is_idle());
        assert!(!link.is_unused());
        let empty = tracked(&link, 0);
        assert!(empty.is_end_stream() && link.activity().is_idle());
    }

    #[test]
    fn a_large_answer_in_one_piece_is_under_way_until_its_last_part() {
        let link = Arc::new(Link::default());
        let bytes = 2 * MAX_PIECE_BYTES + 1;
        let mut body = tracked(&link, bytes);
        let mut left = bytes;
        for _ in 0..2 {
            assert_eq!(body.size_hint().exact(), Some(left as u64));
            let before = link.activity();
            left -= next(&mut body);
            assert!(!body.is_end_stream() && link.activity().is_unread());
            assert_eq!(
                link.activity().made_no_progress_since(before),
                left + MAX_PIECE_BYTES == bytes,
                "only the first piece had none before it to be read"
            );
        }
        assert_eq!(body.size_hint().exact(), Some(1));
        assert_eq!(next(&mut body), 1);
        assert!(body.is_end_stream() && link.activity().is_idle());
    }

    #[test]
    fn an_answer_that_is_given_up_unread_is_no_progress() {
        let link = Arc::new(Link::default());
        for bytes in [1, 2 * MAX_PIECE_BYTES] {
            let before = link.activity();
            let mut body = tracked(&link, bytes);
            next(&mut body);
            drop(body);
            assert!(link.activity().made_no_progress_since(before));
            assert!(link.activity().is_idle());
        }
    }
}
