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

use crate::http::{AnswerBody, Idle, mid_stream};
use crate::key::Secret;
use crate::limit::Permit;
use crate::scripted::Playback;

/// How long to wait for the end of a body whose last event has come.
const END_GRACE: Duration = Duration::from_millis(100);

/// A neutral answer, event by event. Dropping it closes the connection, which tells the
/// upstream to stop.
///
/// It never fails: what goes wrong is a last [`StreamEvent::Error`].
pub struct EventStream {
    source: Source,
    ready: VecDeque<StreamEvent>,
    key: Option<Secret>,
    permit: Option<Permit>,
}

enum Source {
    Upstream(Box<Upstream>),
    Script(Box<Playback>),
    Ended,
}

struct Upstream {
    body: Idle<AnswerBody>,
    reader: StreamReader,
    provider: String,
    /// How long the end of the body is still waited for, once the answer has ended.
    grace: Option<Pin<Box<Sleep>>>,
}

impl EventStream {
    pub(crate) fn open(
        body: Idle<AnswerBody>,
        reader: StreamReader,
        provider: &str,
        key: Option<Secret>,
    ) -> Self {
        EventStream {
            source: Source::Upstream(Box::new(Upstream {
                body,
                reader,
                provider: provider.to_owned(),
                grace: None,
            })),
            ready: VecDeque::new(),
            key,
            permit: None,
        }
    }

    /// A stream of events that are known already.
    pub(crate) fn ready(events: Vec<StreamEvent>) -> Self {
        EventStream {
            source: Source::Ended,
            ready: events.into(),
            key: None,
            permit: None,
        }
    }

    pub(crate) fn script(playback: Playback) -> Self {
        EventStream {
            source: Source::Script(Box::new(playback)),
            ..EventStream::ready(Vec::new())
        }
    }

    /// Keeps a place among the running calls until the stream ends.
    pub(crate) fn hold(&mut self, permit: Permit) {
        self.permit = Some(permit);
    }

    /// Waits for the first event and leaves it in its place.
    pub(crate) async fn first(&mut self) -> Option<&StreamEvent> {
        if self.ready.is_empty() {
            let event = std::future::poll_fn(|context| self.poll_event(context)).await;
            // Others may have come along with it; it stands before them.
            if let Some(event) = event {
                self.ready.push_front(event);
            }
        }
        self.ready.front()
    }

    /// The next event; none at the end.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<StreamEvent>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Poll::Ready(Some(event));
            }
            let more = match &mut self.source {
                Source::Upstream(upstream) => ready!(upstream.poll_more(context, &mut self.ready)),
                Source::Script(playback) => ready!(playback.poll_more(context, &mut self.ready)),
                Source::Ended => return Poll::Ready(None),
            };
            self.redact_last();
            if !more {
                self.source = Source::Ended;
                self.permit = None;
            }
        }
    }

    /// Errors come last, and may quote what the upstream was sent.
    fn redact_last(&mut self) {
        if let (Some(StreamEvent::Error(error)), Some(key)) = (self.ready.back_mut(), &self.key) {
            error.message = key.redact(std::mem::take(&mut error.message));
        }
    }
}

impl Upstream {
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
                events.push_back(StreamEvent::Error(mid_stream(&error, &self.provider)));
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
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(END_GRACE)));
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
            .field("ready", &self.ready)
            .finish_non_exhaustive()
    }
}
