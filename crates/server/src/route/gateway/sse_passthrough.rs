//! Passes an upstream's events through unchanged. If they break off, an error in the client's
//! dialect is the last event.
//!
//! Only complete events are passed on: from a truncated event a client would parse a broken
//! message and miss the error after it. This adds no latency, since half an event is useless.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use memchr::memmem;
use prowess_wire::neutral::{ApiError, StreamEvent};
use prowess_wire::{ClientDialect, ReplyContext, StreamWriter};

use super::usage_scan::UsageScan;
use crate::request_id::RequestId;

/// Bytes of an incomplete event that are buffered; a longer one is passed on in parts.
const MAX_BUFFERED_BYTES: usize = 1 << 20;

/// Complete events of an upstream.
pub(super) struct SsePassthrough<S = UsageScan> {
    client: ClientDialect,
    body: S,
    id: RequestId,
    events: EventSplitter,
    ended: bool,
}

impl<S> SsePassthrough<S> {
    pub(super) fn new(client: ClientDialect, body: S, id: RequestId) -> SsePassthrough<S> {
        SsePassthrough {
            client,
            body,
            id,
            events: EventSplitter::default(),
            ended: false,
        }
    }

    fn error_event(&self, mut error: ApiError) -> Bytes {
        error.request_id.get_or_insert_with(|| self.id.to_string());
        // Part of an event may have been sent; an empty line ends it.
        let mut out = if self.events.torn { "\n\n" } else { "" }.into();
        let mut writer = StreamWriter::new(self.client, ReplyContext::default());
        writer.write(&StreamEvent::Error(error), &mut out);
        out.into()
    }
}

impl<S> Stream for SsePassthrough<S>
where
    S: Stream<Item = Result<Bytes, Box<ApiError>>> + Unpin,
{
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while !self.ended {
            let ready = match ready!(self.body.poll_next_unpin(context)) {
                Some(Ok(chunk)) => self.events.push(chunk),
                Some(Err(error)) => {
                    self.ended = true;
                    Some(self.error_event(*error))
                }
                None => {
                    self.ended = true;
                    self.events.rest()
                }
            };
            if let Some(bytes) = ready {
                return Poll::Ready(Some(Ok(bytes)));
            }
        }
        Poll::Ready(None)
    }
}

/// Splits bytes at the ends of events.
#[derive(Default)]
struct EventSplitter {
    buffered: BytesMut,
    /// Whether the beginning of an event was passed on without its end.
    torn: bool,
}

impl EventSplitter {
    /// Adds bytes; returns those up to the end of the last complete event.
    fn push(&mut self, mut chunk: Bytes) -> Option<Bytes> {
        // Usually a chunk consists of complete events and need not be copied.
        if self.buffered.is_empty()
            && let Some(end) = last_event_end(&chunk)
        {
            let whole = chunk.split_to(end);
            self.buffered.extend_from_slice(&chunk);
            return self.complete(whole);
        }
        // The end of an event may begin in the buffered bytes.
        let from = self.buffered.len().saturating_sub(3);
        self.buffered.extend_from_slice(&chunk);
        match last_event_end(self.buffered.get(from..).unwrap_or_default()) {
            Some(end) => {
                let whole = self.buffered.split_to(from + end).freeze();
                self.complete(whole)
            }
            None if self.buffered.len() > MAX_BUFFERED_BYTES => {
                self.torn = true;
                self.rest()
            }
            None => None,
        }
    }

    fn complete(&mut self, bytes: Bytes) -> Option<Bytes> {
        self.torn = false;
        Some(bytes)
    }

    /// The rest when no more bytes follow.
    fn rest(&mut self) -> Option<Bytes> {
        let rest = std::mem::take(&mut self.buffered).freeze();
        (!rest.is_empty()).then_some(rest)
    }
}

/// The position after the last empty line.
fn last_event_end(bytes: &[u8]) -> Option<usize> {
    if bytes.ends_with(b"\n\n") {
        return Some(bytes.len());
    }
    let ends: [&[u8]; 3] = [b"\n\n", b"\n\r\n", b"\r\r"];
    let found = ends.map(|end| memmem::rfind(bytes, end).map(|at| at + end.len()));
    found.into_iter().flatten().max()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str =
        "data: 1\n\nevent: a\r\ndata: 2\r\n\r\n: note\n\ndata: 3\r\rdata: 4\n\ndata: ha";

    #[test]
    fn in_any_cut_only_whole_events_are_given_and_no_byte_is_lost() {
        let whole = STREAM.len() - "data: ha".len();
        for size in 1..=STREAM.len() {
            let mut events = EventSplitter::default();
            let mut out = Vec::new();
            for chunk in STREAM.as_bytes().chunks(size) {
                let given = events.push(Bytes::copy_from_slice(chunk));
                out.extend(given.unwrap_or_default());
                assert!(
                    last_event_end(&out).unwrap_or(0) == out.len(),
                    "{size}: {out:?}"
                );
            }
            assert_eq!(out, STREAM.as_bytes()[..whole], "{size}");
            out.extend(events.rest().unwrap());
            assert_eq!(out, STREAM.as_bytes());
        }
    }

    #[test]
    fn an_event_that_is_too_long_to_be_held_is_given_on_in_parts() {
        let mut events = EventSplitter::default();
        let long = vec![b'x'; MAX_BUFFERED_BYTES];
        assert_eq!(events.push(long.clone().into()), None);
        let given = events.push(long.into()).unwrap();
        assert_eq!(given.len(), 2 * MAX_BUFFERED_BYTES);
        assert!(events.torn);
        assert!(events.push(Bytes::from_static(b"\n\n")).is_some());
        assert!(!events.torn);
    }
}
