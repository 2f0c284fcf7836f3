//! A neutral answer, event by event.

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

/// How long to wait for the end of a body whose last event has come.
const END_GRACE_PERIOD: Duration = Duration::from_millis(100);

/// A neutral answer, event by event. Dropping it closes the connection, which tells the
/// upstream to stop.
///
/// It never fails: what goes wrong is a last [`StreamEvent::Error`].
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
    /// How long the end of the body is still waited for, once the answer has ended.
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

    /// A stream of events that are known already.
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

    /// Keeps a place among the running calls until the stream ends.
    pub(crate) fn hold_permit(&mut self, permit: CallPermit) {
        self.permit = Some(permit);
    }

    /// Waits for the first event and leaves it in its place.
    pub(crate) async fn peek_first(&mut self) -> Option<&StreamEvent> {
        if self.buffered.is_empty() {
            let event = std::future::poll_fn(|context| self.poll_event(context)).await;
            // Others may have come along with it; it stands before them.
            if let Some(event) = event {
                self.buffered.push_front(event);
            }
        }
        self.buffered.front()
    }

    /// The next event; none at the end.
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

    /// Errors come last, and may quote what the upstream was sent.
    fn redact_last(&mut self) {
        if let (Some(StreamEvent::Error(error)), Some(key)) = (self.buffered.back_mut(), &self.key)
        {
            error.message = key.redact(std::mem::take(&mut error.message));
        }
    }
}

impl UpstreamEvents {
    /// Reads on; says whether there may be more.
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

    /// Reads to the end of the body: only then can the connection be used again. It
    /// usually comes along with the last event; who holds it back is not waited for.
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
