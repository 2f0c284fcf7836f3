//! Answers that come piece by piece. Dropping one, as happens when the client leaves,
//! closes the connection to the upstream.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use prowess_provider::ByteStream;
use prowess_wire::neutral::{ApiError, StreamEvent};
use prowess_wire::{Client, Dropped, ReplyContext, StreamWriter};

use crate::context::RequestId;

/// Events that are ready at once are sent in one piece of about this size.
const PIECE: usize = 16 << 10;

/// An upstream's bytes as they come; if they break off, an error in the client's
/// dialect is the last event.
pub(super) fn passing(
    client: Client,
    body: ByteStream,
    id: RequestId,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
    body.map(move |piece| Ok(piece.unwrap_or_else(|error| last_event(client, *error, &id))))
}

fn last_event(client: Client, error: ApiError, id: &RequestId) -> Bytes {
    // The bytes may have ended inside an event; an empty line ends that one.
    let mut out = b"\n\n".to_vec();
    let mut event = StreamEvent::Error(error);
    name_request(&mut event, id);
    StreamWriter::new(client, ReplyContext::default()).write(&event, &mut out);
    out.into()
}

/// A neutral answer, written in the client's dialect.
pub(super) struct Written<S> {
    events: S,
    writer: StreamWriter,
    id: RequestId,
}

impl<S> Written<S> {
    pub(super) fn new(events: S, writer: StreamWriter, id: RequestId) -> Self {
        Written { events, writer, id }
    }

    fn write(&mut self, mut event: StreamEvent, out: &mut Vec<u8>) {
        name_request(&mut event, &self.id);
        self.writer.write(&event, out);
        for Dropped { field, why } in self.writer.take_dropped() {
            tracing::debug!(field, why, "left out of the answer");
        }
    }
}

impl<S: Stream<Item = StreamEvent> + Unpin> Stream for Written<S> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Infallible>>> {
        let mut out = Vec::new();
        while out.len() < PIECE {
            match self.events.poll_next_unpin(context) {
                Poll::Ready(Some(event)) => self.write(event, &mut out),
                // What is ready goes out before anything is waited for.
                Poll::Ready(None) | Poll::Pending if !out.is_empty() => break,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(Some(Ok(out.into())))
    }
}

fn name_request(event: &mut StreamEvent, id: &RequestId) {
    if let StreamEvent::Error(error) = event {
        error.request_id.get_or_insert_with(|| id.to_string());
    }
}
