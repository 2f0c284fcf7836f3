//! A neutral answer, written event by event in the client's dialect. Dropping it, as
//! happens when the client leaves, closes the connection to the upstream.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Stream, StreamExt};
use prowess_wire::StreamWriter;
use prowess_wire::neutral::{Delta, StreamEvent, Usage};
use tokio::time::{Instant, Sleep};

use super::answer::{self, Reply};
use super::dropped::LeftOut;

/// Events that are ready at once are sent in one piece of about this size.
const PIECE: usize = 16 << 10;
/// About how many bytes of text make a token.
const BYTES_PER_TOKEN: usize = 4;

/// An answer as the client gets it.
pub(super) struct Written<S> {
    events: S,
    writer: StreamWriter,
    reply: Reply,
    quiet: Quiet,
    said_bytes: usize,
    /// Bytes of text when the last counts came.
    counted_bytes: usize,
    ended: bool,
    /// What of the answer could not be said.
    left_out: LeftOut,
    /// The answer being kept, and the bytes that end it: whoever has those may ask for
    /// it at once.
    keeping: Option<(BoxFuture<'static, ()>, Bytes)>,
}

impl<S> Written<S> {
    pub(super) fn new(events: S, writer: StreamWriter, reply: Reply) -> Self {
        Written {
            events,
            writer,
            quiet: Quiet::new(reply.ping),
            reply,
            said_bytes: 0,
            counted_bytes: 0,
            ended: false,
            left_out: LeftOut::default(),
            keeping: None,
        }
    }

    fn write(&mut self, mut event: StreamEvent, out: &mut Vec<u8>) {
        if let StreamEvent::Error(error) = &mut event {
            let id = &self.reply.id;
            error.request_id.get_or_insert_with(|| id.to_string());
        }
        self.count(&event);
        if matches!(event, StreamEvent::MessageDelta { .. }) {
            self.writer.set_completed(answer::now());
        }
        if matches!(event, StreamEvent::MessageStop)
            && let Some(comment) = self.left_out.take_comment()
        {
            out.extend_from_slice(comment.as_bytes());
        }
        self.writer.write(&event, out);
        self.left_out.of_answer(&self.writer.take_dropped());
        if let Some(kept) = &mut self.reply.kept {
            kept.hear(&event);
        }
        if matches!(event, StreamEvent::MessageStop)
            && let Some(mut kept) = self.reply.kept.take()
            && let Some(response) = kept.streamed(&mut self.writer)
        {
            let save = async move { kept.save(&response).await };
            self.keeping = Some((save.boxed(), std::mem::take(out).into()));
        }
    }

    fn count(&mut self, event: &StreamEvent) {
        let meter = &mut self.reply.meter;
        match event {
            StreamEvent::MessageStart { usage, .. } | StreamEvent::MessageDelta { usage, .. } => {
                if usage.output_tokens > 0 {
                    self.counted_bytes = self.said_bytes;
                }
                meter.used(usage);
            }
            StreamEvent::BlockDelta { delta, .. } => self.said_bytes += length(delta),
            StreamEvent::MessageStop => {
                self.ended = true;
                meter.ended_with_usage(200);
            }
            StreamEvent::Error(error) => {
                meter.failed(
                    error.status,
                    error.code.as_deref().unwrap_or("upstream-error"),
                );
            }
            _ => {}
        }
    }
}

fn length(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::InputJson(text) | Delta::Thinking(text) => text.len(),
        Delta::Signature(_) | Delta::Other(_) | Delta::Rest(_) => 0,
    }
}

/// An upstream that counts nothing is counted by its bytes, and so is an answer that the
/// client left before its counts came.
impl<S> Drop for Written<S> {
    fn drop(&mut self) {
        let counted = self.reply.meter.has_usage();
        let uncounted = !self.ended && self.said_bytes > self.counted_bytes;
        if uncounted || (!counted && self.said_bytes > 0) {
            let asked_tokens = (self.reply.asked_bytes / BYTES_PER_TOKEN) as u64;
            self.reply.meter.guess(&Usage {
                input_tokens: if counted { 0 } else { asked_tokens },
                output_tokens: self.said_bytes.div_ceil(BYTES_PER_TOKEN) as u64,
                ..Usage::default()
            });
        }
    }
}

impl<S: Stream<Item = StreamEvent> + Unpin> Stream for Written<S> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut out = Vec::new();
        while out.len() < PIECE {
            if let Some((save, last)) = &mut self.keeping {
                ready!(save.poll_unpin(context));
                let last = std::mem::take(last);
                self.keeping = None;
                return Poll::Ready(Some(Ok(last)));
            }
            match self.events.poll_next_unpin(context) {
                Poll::Ready(Some(event)) => {
                    self.quiet.broken();
                    self.write(event, &mut out);
                }
                // What is ready goes out before anything is waited for.
                Poll::Ready(None) | Poll::Pending if !out.is_empty() => break,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => {
                    ready!(self.quiet.poll(context));
                    self.write(StreamEvent::Ping, &mut out);
                }
            }
        }
        Poll::Ready(Some(Ok(out.into())))
    }
}

/// Waits for a silence to become too long.
struct Quiet {
    limit: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl Quiet {
    fn new(limit: Option<Duration>) -> Quiet {
        Quiet {
            limit,
            timer: None,
            waiting: false,
        }
    }

    /// Something was said.
    fn broken(&mut self) {
        self.waiting = false;
    }

    /// Ready once the silence has been too long; then it begins anew.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(limit) = self.limit else {
            return Poll::Pending;
        };
        let until = Instant::now() + limit;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        // The timer is only set when there is something to wait for.
        if !self.waiting {
            self.waiting = true;
            timer.as_mut().reset(until);
        }
        ready!(timer.as_mut().poll(context));
        self.waiting = false;
        Poll::Ready(())
    }
}
