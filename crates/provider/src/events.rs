//! A neutral response as a stream of events.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use prowess_wire::StreamReader;
use prowess_wire::neutral::StreamEvent;
use tokio::time::Sleep;

use crate::http::{IdleTimeoutBody, ResponseBody, mid_stream_error};
use crate::key::SecretText;
use crate::limiter::CallPermit;
use crate::scripted::Playback;

/// How long to wait for the end of the body after the last event.
const END_GRACE_PERIOD: Duration = Duration::from_millis(100);

/// A neutral response as a stream of events. Dropping it closes the connection, which
/// stops the upstream.
///
/// It never fails: a failure is a last [`StreamEvent::Error`].
pub struct EventStream {
    source: EventSource,
    buffered: VecDeque<StreamEvent>,
    key: Option<SecretText>,
    permit: Option<CallPermit>,
}

enum EventSource {
    Upstream(Box<UpstreamEvents>),
    Script(Box<Playback>),
    Ended,
}

struct UpstreamEvents {
    body: IdleTimeoutBody<ResponseBody>,
    reader: StreamReader,
    provider: String,
    /// How much longer to wait for the end of the body, once the response is complete.
    grace: Option<Pin<Box<Sleep>>>,
}

impl EventStream {
    pub(crate) fn from_upstream(
        body: IdleTimeoutBody<ResponseBody>,
        reader: StreamReader,
        provider: &str,
        key: Option<SecretText>,
    ) -> Self {
        EventStream {
            source: EventSource::Upstream(Box::new(UpstreamEvents {
                body,
                reader,
                provider: provider.to_owned(),
                grace: None,
            })),
            buffered: VecDeque::new(),
            key,
            permit: None,
        }
    }

    /// A stream of known events.
    pub(crate) fn from_events(events: Vec<StreamEvent>) -> Self {
        EventStream {
            source: EventSource::Ended,
            buffered: events.into(),
            key: None,
            permit: None,
        }
    }

    pub(crate) fn from_script(playback: Playback) -> Self {
        EventStream {
            source: EventSource::Script(Box::new(playback)),
            ..EventStream::from_events(Vec::new())
        }
    }

    /// Holds a call permit until the stream ends.
    pub(crate) fn hold_permit(&mut self, permit: CallPermit) {
        self.permit = Some(permit);
    }

    /// Waits for the first event and leaves it in the queue.
    pub(crate) async fn peek_first(&mut self) -> Option<&StreamEvent> {
        if self.buffered.is_empty() {
            let event = std::future::poll_fn(|context| self.poll_event(context)).await;
            // More events may have arrived with it; it goes before them.
            if let Some(event) = event {
                self.buffered.push_front(event);
            }
        }
        self.buffered.front()
    }

    /// The next event; `None` at the end.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<StreamEvent>> {
        loop {
            if let Some(event) = self.buffered.pop_front() {
                return Poll::Ready(Some(event));
            }
            let more = match &mut self.source {
                EventSource::Upstream(upstream) => {
                    ready!(upstream.poll_more(context, &mut self.buffered))
                }
                EventSource::Script(playback) => {
                    ready!(playback.poll_more(context, &mut self.buffered))
                }
                EventSource::Ended => return Poll::Ready(None),
            };
            self.redact_last();
            if !more {
                self.source = EventSource::Ended;
                self.permit = None;
            }
        }
    }

    /// An error comes last, and may quote what was sent to the upstream.
    fn redact_last(&mut self) {
        if let (Some(StreamEvent::Error(error)), Some(key)) = (self.buffered.back_mut(), &self.key)
        {
            error.message = key.redact(std::mem::take(&mut error.message));
        }
    }
}

impl UpstreamEvents {
    /// Reads more; returns whether there may be more.
    fn poll_more(
        &mut self,
        context: &mut Context<'_>,
        events: &mut VecDeque<StreamEvent>,
    ) -> Poll<bool> {
        if self.reader.is_ended() {
            ready!(self.poll_end(context));
            return Poll::Ready(false);
        }
        match ready!(self.body.poll_chunk(context)) {
            Some(Ok(bytes)) => events.extend(self.reader.push(&bytes)),
            Some(Err(error)) => {
                events.push_back(StreamEvent::Error(mid_stream_error(&error, &self.provider)));
                return Poll::Ready(false);
            }
            None => {
                events.extend(self.reader.finish());
                return Poll::Ready(false);
            }
        }
        Poll::Ready(true)
    }

    /// Reads to the end of the body: only then can the connection be reused. The end
    /// usually arrives with the last event; an upstream that delays it is not waited for.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let grace = self
            .grace
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(END_GRACE_PERIOD)));
        loop {
            match self.body.poll_chunk(context) {
                Poll::Ready(Some(Ok(_))) if !grace.is_elapsed() => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return grace.as_mut().poll(context),
            }
        }
    }
}

impl Stream for EventStream {
    type Item = StreamEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<StreamEvent>> {
        self.poll_event(context)
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("ready", &self.buffered)
            .finish_non_exhaustive()
    }
}
