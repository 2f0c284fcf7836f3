//! A body whose beginning is in memory and whose rest is sent as it arrives.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::http::RequestBody;

/// A beginning, and what follows.
pub(super) struct SizedBody {
    head: Bytes,
    rest: RequestBody,
    /// Of the rest, if it is known: then the whole length is sent as `content-length`, without
    /// which some servers refuse an upload.
    length: Option<u64>,
}

impl SizedBody {
    pub(super) fn new(head: Bytes, rest: RequestBody, length: Option<u64>) -> Self {
        SizedBody { head, rest, length }
    }
}

impl Body for SizedBody {
    type Data = Bytes;
    type Error = <RequestBody as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if !self.head.is_empty() {
            let head = std::mem::take(&mut self.head);
            return Poll::Ready(Some(Ok(Frame::data(head))));
        }
        let frame = std::task::ready!(Pin::new(&mut self.rest).poll_frame(context));
        if let (Some(Ok(frame)), Some(length)) = (&frame, &mut self.length)
            && let Some(data) = frame.data_ref()
        {
            *length = length.saturating_sub(data.len() as u64);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.head.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.length {
            Some(length) => SizeHint::with_exact(length.saturating_add(self.head.len() as u64)),
            None => SizeHint::default(),
        }
    }
}
