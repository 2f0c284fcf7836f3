//! A run as a stream of events. Dropping it cancels the upstream request and the sandbox's
//! commands.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt};
use tokio::sync::mpsc;

use crate::error::RunError;
use crate::events::{RunEvent, RunStep, TurnStarted};
use crate::record::RunUsage;

/// Events that are buffered before the run waits for its reader.
pub(crate) const EVENT_BUFFER: usize = 64;

/// A run in progress. It makes progress only while it is polled.
pub struct RunStream {
    id: String,
    task: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    events: mpsc::Receiver<RunEvent>,
    /// Events that were received and not yet returned.
    buffered: VecDeque<RunEvent>,
    usage: Option<RunUsage>,
}

impl RunStream {
    pub(crate) fn new(
        id: String,
        task: impl Future<Output = ()> + Send + 'static,
        events: mpsc::Receiver<RunEvent>,
        usage: Option<RunUsage>,
    ) -> Self {
        RunStream {
            id,
            task: Some(Box::pin(task)),
            events,
            buffered: VecDeque::new(),
            usage,
        }
    }

    /// The right to report what the run used, of a run that is tracked. Returned once.
    pub fn take_usage(&mut self) -> Option<RunUsage> {
        self.usage.take()
    }

    /// Its id, which is the id of its record.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Waits until the response has started: until then the run can still fail as a whole.
    /// Returns the turn it started with; none when it continues with calls of an earlier one.
    ///
    /// # Errors
    /// When it fails before its response starts.
    pub async fn wait_for_start(&mut self) -> Result<Option<TurnStarted>, RunError> {
        let mut first = None;
        let mut taken = VecDeque::new();
        while let Some(event) = self.next().await {
            if let RunEvent::Failed(error) = event {
                return Err(error);
            }
            if let RunEvent::Step(RunStep::TurnStarted(turn)) = &event {
                first = Some(turn.clone());
            }
            let has_started = matches!(event, RunEvent::Response(_));
            taken.push_back(event);
            if has_started {
                break;
            }
        }
        taken.append(&mut self.buffered);
        self.buffered = taken;
        Ok(first)
    }
}

impl Stream for RunStream {
    type Item = RunEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        if let Some(event) = self.buffered.pop_front() {
            return Poll::Ready(Some(event));
        }
        if let Poll::Ready(Some(event)) = self.events.poll_recv(context) {
            return Poll::Ready(Some(event));
        }
        if let Some(task) = &mut self.task
            && task.as_mut().poll(context).is_ready()
        {
            self.task = None;
        }
        // The task owned the sender, so this also returns the end of the stream.
        self.events.poll_recv(context)
    }
}

impl std::fmt::Debug for RunStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunStream")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
