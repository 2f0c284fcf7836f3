//! The body of an answer, which says whether it waits for its client to read.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Frame, SizeHint};

use super::Underway;
use crate::requests::TenantRequest;

/// A body whose request is under way until it has ended or is dropped.
pub(crate) struct Tracked<B> {
    body: B,
    underway: Underway,
    #[expect(dead_code, reason = "kept for its drop")]
    of_tenant: Option<Arc<TenantRequest>>,
}

impl<B: Body> Tracked<B> {
    pub(crate) fn new(
        body: B,
        mut underway: Underway,
        of_tenant: Option<Arc<TenantRequest>>,
    ) -> Tracked<B> {
        if body.is_end_stream() {
            underway.finish();
        }
        Tracked {
            body,
            underway,
            of_tenant,
        }
    }
}

impl<B: Body + Unpin> Body for Tracked<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.get_mut();
        this.underway.wanted();
        let frame = ready!(Pin::new(&mut this.body).poll_frame(context));
        if frame.is_some() {
            this.underway.gave();
        }
        if frame.is_none() || this.body.is_end_stream() {
            this.underway.finish();
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
