//! Where the events of a kept run go: into its log, and into the response that is its result.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use prowess_wire::ClientDialect;
use prowess_wire::neutral::{ApiError, Response, ResponseCollector, StreamEvent};

use super::fail_point::fail_point;
use super::journal::RunJournal;
use super::journal_stop::JournalStop;
use super::log_event::LogEvent;
use crate::events::{RunEvent, RunStep};

/// Is shown the events of a run that are not part of its response.
pub type EventObserver = Box<dyn Fn(&RunEvent) + Send + Sync>;

/// The output of a kept run.
pub(crate) struct KeptOutput {
    journal: Arc<RunJournal>,
    client: ClientDialect,
    observer: EventObserver,
    state: Mutex<OutputState>,
}

struct OutputState {
    /// Whether the events are in the log already, because finished steps are read again.
    replays: bool,
    /// Events that are logged when their turn is stored: a client must not see a call that is
    /// then made again under another id.
    held: Option<Vec<LogEvent>>,
    collector: Option<ResponseCollector>,
    /// An error of the collected response.
    broken: Option<ApiError>,
    /// Why the journal refused an event.
    stop: Option<JournalStop>,
}

impl KeptOutput {
    pub(crate) fn new(
        journal: Arc<RunJournal>,
        client: ClientDialect,
        observer: EventObserver,
    ) -> Self {
        KeptOutput {
            journal,
            client,
            observer,
            state: Mutex::new(OutputState {
                replays: true,
                held: None,
                collector: Some(ResponseCollector::new(client.into())),
                broken: None,
                stop: None,
            }),
        }
    }

    /// Takes an event of the run.
    pub(crate) async fn send(&self, event: RunEvent) {
        match event {
            RunEvent::Response(StreamEvent::Ping) => {}
            RunEvent::Response(event) => self.add_response_event(event).await,
            // Logged when the run is ended, also if other events are held back.
            RunEvent::Failed(_) => {}
            other => {
                if let RunEvent::Step(RunStep::TurnStarted(turn)) = &other
                    && turn.number == 1
                    && !turn.dropped.is_empty()
                {
                    let dropped = turn.dropped.iter();
                    let dropped = dropped.map(|one| (one.field.clone(), one.why.to_owned()));
                    self.log(LogEvent::Dropped(dropped.collect()));
                }
                (self.observer)(&other);
                if let RunEvent::Step(step) = &other {
                    self.log(LogEvent::Step {
                        at: now_millis(),
                        step: step.stored_fields(true),
                    });
                }
            }
        }
    }

    async fn add_response_event(&self, event: StreamEvent) {
        self.collect(event.clone());
        if matches!(event, StreamEvent::MessageDelta { .. }) {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            self.log(LogEvent::CompletedAt(
                now.map_or(0, |since| since.as_secs()),
            ));
        }
        let is_delta = matches!(event, StreamEvent::BlockDelta { .. });
        self.log(LogEvent::Response(Box::new(event)));
        if is_delta {
            fail_point("in-stream");
        }
        if let Err(stop) = self.journal.wait_for_space().await {
            self.state().stop.get_or_insert(stop);
        }
    }

    /// Adds an event to the response, not to the log.
    pub(crate) fn collect(&self, mut event: StreamEvent) {
        // Unknown fields of a message are Anthropic's; other clients do not get them.
        if let StreamEvent::MessageStart { rest, .. } = &mut event
            && self.client != ClientDialect::Messages
        {
            rest.clear();
        }
        let mut state = self.state();
        if let Some(collector) = &mut state.collector
            && let Err(error) = collector.push(event)
        {
            state.broken.get_or_insert(error);
        }
    }

    /// Adds an event to the log, not to the response.
    pub(crate) fn log(&self, event: LogEvent) {
        let mut state = self.state();
        if state.replays {
            return;
        }
        match &mut state.held {
            Some(held) => held.push(event),
            None => self.journal.push(&event),
        }
    }

    /// Whether finished steps are read again, so that nothing is logged.
    pub(crate) fn set_replays(&self, replays: bool) {
        self.state().replays = replays;
    }

    /// Holds further events back until [`Self::take_held`].
    pub(crate) fn hold(&self) {
        self.state().held.get_or_insert_default();
    }

    /// The events that were held back, to be logged with their step.
    pub(crate) fn take_held(&self) -> Vec<LogEvent> {
        self.state().held.take().unwrap_or_default()
    }

    /// Why the journal refused an event, if it did.
    pub(crate) fn take_stop(&self) -> Option<JournalStop> {
        self.state().stop.take()
    }

    /// The whole response.
    pub(crate) fn take_response(&self) -> Result<Response, ApiError> {
        let mut state = self.state();
        if let Some(error) = state.broken.take() {
            return Err(error);
        }
        match state.collector.take() {
            Some(collector) => collector.finish(),
            None => Err(ApiError::new(
                prowess_wire::neutral::ErrorKind::Api,
                "the response was taken before",
            )),
        }
    }

    fn state(&self) -> MutexGuard<'_, OutputState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time, in milliseconds of the Unix epoch.
fn now_millis() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = now.map_or(0, |since| since.as_millis());
    u64::try_from(millis).unwrap_or(u64::MAX)
}

impl std::fmt::Debug for KeptOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptOutput")
            .field("journal", &self.journal)
            .finish_non_exhaustive()
    }
}
