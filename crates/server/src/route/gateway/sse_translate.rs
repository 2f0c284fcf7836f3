//! Translates a neutral response event by event to the client's dialect. Dropping it, when the
//! client leaves, closes the upstream connection, as does the loss of the client's access.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Stream, StreamExt};
use prowess_wire::StreamWriter;
use prowess_wire::neutral::{Delta, StreamEvent, TokenUsage};
use tokio::time::{Instant, Sleep};

use super::client_reply::ClientReply;
use super::clock::unix_now;
use super::unsupported_fields::UnsupportedFields;
use crate::error::{HttpError, to_neutral};

/// Events that are ready at once are sent in one chunk of about this size.
const CHUNK_BYTES: usize = 16 << 10;
/// Approximate bytes of text per token.
const BYTES_PER_TOKEN: usize = 4;

/// A response in the client's dialect.
pub(super) struct TranslatedStream<S> {
    /// None once the client may not have them any more.
    events: Option<S>,
    writer: StreamWriter,
    reply: ClientReply,
    silence: SilenceTimer,
    output_bytes: usize,
    /// Bytes of text when the last counts arrived.
    counted_bytes: usize,
    ended: bool,
    /// Fields of the response that the client's dialect does not support.
    unsupported: UnsupportedFields,
    /// The response being stored, and its last bytes: the client may request it as soon as it
    /// has those.
    saving: Option<(BoxFuture<'static, ()>, Bytes)>,
}

impl<S> TranslatedStream<S> {
    pub(super) fn new(events: S, writer: StreamWriter, reply: ClientReply) -> Self {
        TranslatedStream {
            events: Some(events),
            writer,
            silence: SilenceTimer::new(reply.ping),
            reply,
            output_bytes: 0,
            counted_bytes: 0,
            ended: false,
            unsupported: UnsupportedFields::default(),
            saving: None,
        }
    }

    fn write(&mut self, mut event: StreamEvent, out: &mut Vec<u8>) {
        if let StreamEvent::Error(error) = &mut event {
            let id = &self.reply.id;
            error.request_id.get_or_insert_with(|| id.to_string());
        }
        self.count(&event);
        if matches!(event, StreamEvent::MessageDelta { .. }) {
            self.writer.set_completed(unix_now());
        }
        if matches!(event, StreamEvent::MessageStop)
            && let Some(comment) = self.unsupported.take_comment()
        {
            out.extend_from_slice(comment.as_bytes());
        }
        self.writer.write(&event, out);
        self.unsupported
            .add_response_fields(&self.writer.take_dropped());
        if let Some(recorder) = &mut self.reply.recorder {
            recorder.on_event(&event);
        }
        if matches!(event, StreamEvent::MessageStop)
            && let Some(mut recorder) = self.reply.recorder.take()
            && let Some(response) = recorder.take_streamed(&mut self.writer)
        {
            let save = async move { recorder.save(&response).await };
            self.saving = Some((save.boxed(), std::mem::take(out).into()));
        }
    }

    /// Ends the stream of a client that may not have the rest of it.
    fn refuse(&mut self, refusal: &HttpError, out: &mut Vec<u8>) {
        // Cancels the upstream's work, and the commands of a run.
        self.events = None;
        self.write(StreamEvent::Error(to_neutral(refusal, None)), out);
        self.reply.meter.record_lost_access(refusal);
    }

    fn count(&mut self, event: &StreamEvent) {
        let meter = &mut self.reply.meter;
        match event {
            StreamEvent::MessageStart { usage, .. } | StreamEvent::MessageDelta { usage, .. } => {
                if usage.output_tokens > 0 {
                    self.counted_bytes = self.output_bytes;
                }
                match event {
                    StreamEvent::MessageDelta { .. } => meter.replace_usage(usage),
                    _ => meter.record_usage(usage),
                }
            }
            StreamEvent::BlockDelta { delta, .. } => self.output_bytes += delta_bytes(delta),
            StreamEvent::MessageStop => {
                self.ended = true;
                meter.record_end_and_settle(200);
            }
            StreamEvent::Error(error) => {
                meter.record_failure(
                    error.status,
                    error.code.as_deref().unwrap_or("upstream-error"),
                );
            }
            _ => {}
        }
    }
}

fn delta_bytes(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::InputJson(text) | Delta::Thinking(text) => text.len(),
        Delta::Signature(_) | Delta::Other(_) | Delta::Rest(_) => 0,
    }
}

/// If the upstream sends no counts, or the client left before they arrived, tokens are
/// estimated by bytes.
impl<S> Drop for TranslatedStream<S> {
    fn drop(&mut self) {
        let counted = self.reply.meter.has_usage();
        let uncounted = !self.ended && self.output_bytes > self.counted_bytes;
        if uncounted || (!counted && self.output_bytes > 0) {
            let request_tokens = (self.reply.request_bytes / BYTES_PER_TOKEN) as u64;
            self.reply.meter.record_estimate(&TokenUsage {
                input_tokens: if counted { 0 } else { request_tokens },
                output_tokens: self.output_bytes.div_ceil(BYTES_PER_TOKEN) as u64,
                ..TokenUsage::default()
            });
        }
    }
}

impl<S: Stream<Item = StreamEvent> + Unpin> Stream for TranslatedStream<S> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut out = Vec::new();
        // First: events may always be ready. A complete response is stored in any case.
        if self.events.is_some()
            && !self.ended
            && let Poll::Ready(refusal) = self.reply.lost.poll_unpin(context)
        {
            self.refuse(&refusal, &mut out);
            return Poll::Ready(Some(Ok(out.into())));
        }
        while out.len() < CHUNK_BYTES {
            if let Some((save, last)) = &mut self.saving {
                ready!(save.poll_unpin(context));
                let last = std::mem::take(last);
                self.saving = None;
                return Poll::Ready(Some(Ok(last)));
            }
            let Some(events) = &mut self.events else {
                return Poll::Ready(None);
            };
            match events.poll_next_unpin(context) {
                Poll::Ready(Some(event)) => {
                    self.silence.reset();
                    self.write(event, &mut out);
                }
                // Send what is ready before waiting.
                Poll::Ready(None) | Poll::Pending if !out.is_empty() => break,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => {
                    ready!(self.silence.poll(context));
                    self.write(StreamEvent::Ping, &mut out);
                }
            }
        }
        Poll::Ready(Some(Ok(out.into())))
    }
}

/// Waits until a silence exceeds the limit.
struct SilenceTimer {
    limit: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl SilenceTimer {
    fn new(limit: Option<Duration>) -> SilenceTimer {
        SilenceTimer {
            limit,
            timer: None,
            waiting: false,
        }
    }

    /// An event was sent.
    fn reset(&mut self) {
        self.waiting = false;
    }

    /// Ready once the limit is exceeded; then it starts again.
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
