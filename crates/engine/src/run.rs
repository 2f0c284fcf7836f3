//! A run as its user holds it: a stream of events. Dropping it ends the upstream's work
//! and the sandbox's.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt};
use tokio::sync::mpsc;

use crate::error::RunError;
use crate::events::{RunEvent, Step, Turn};

/// Events that wait to be taken before the run itself waits.
pub(crate) const AHEAD: usize = 64;

/// A run under way. It makes progress only while it is polled.
pub struct Run {
    id: String,
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    events: mpsc::Receiver<RunEvent>,
    /// Events that were looked at and not taken.
    ahead: VecDeque<RunEvent>,
}

impl Run {
    pub(crate) fn new(
        id: String,
        work: impl Future<Output = ()> + Send + 'static,
        events: mpsc::Receiver<RunEvent>,
    ) -> Self {
        Run {
            id,
            work: Some(Box::pin(work)),
            events,
            ahead: VecDeque::new(),
        }
    }

    /// Its id, by which its record will be found.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Waits until the answer has begun: until then the run can still fail as a whole.
    /// Gives the turn it began with; none when it goes on with calls of an earlier one.
    ///
    /// # Errors
    /// When it fails before its answer begins.
    pub async fn begun(&mut self) -> Result<Option<Turn>, RunError> {
        let mut first = None;
        let mut taken = VecDeque::new();
        while let Some(event) = self.next().await {
            if let RunEvent::Failed(error) = event {
                return Err(error);
            }
            if let RunEvent::Step(Step::Turn(turn)) = &event {
                first = Some(turn.clone());
            }
            let begun = matches!(event, RunEvent::Answer(_));
            taken.push_back(event);
            if begun {
                break;
            }
        }
        taken.append(&mut self.ahead);
        self.ahead = taken;
        Ok(first)
    }
}

impl Stream for Run {
    type Item = RunEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        if let Some(event) = self.ahead.pop_front() {
            return Poll::Ready(Some(event));
        }
        if let Poll::Ready(Some(event)) = self.events.poll_recv(context) {
            return Poll::Ready(Some(event));
        }
        if let Some(work) = &mut self.work
            && work.as_mut().poll(context).is_ready()
        {
            self.work = None;
        }
        // With the work its end of the line is gone, so that this tells the end, too.
        self.events.poll_recv(context)
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
