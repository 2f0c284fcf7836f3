//! The journal of one kept run, as its owner writes it: the lease, finished steps, and the
//! events that listeners receive.
//!
//! Everything is written under one lock, so that events and steps are stored in the order in
//! which they happened. It does not know what a step contains.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prowess_store::{
    AppendOutcome, EndOutcome, Error as StoreError, EventChunk, LeaseStatus, NewEventChunk,
    NewStep, NewWebhook, RunLease, RunResult, RunState, StepChanges, Store,
};
use prowess_wire::neutral::{ApiError, StreamEvent};
use tokio::sync::watch;

use super::fail_point::fail_point;
use super::log_event::{LogEvent, LogSummary};

/// How long a run belongs to its server without renewal. Debug builds read
/// `PROWESS_RUN_LEASE_MS`, so that tests need not wait.
#[must_use]
pub fn lease_time() -> Duration {
    const LEASE: Duration = Duration::from_secs(15);
    if !cfg!(debug_assertions) {
        return LEASE;
    }
    let millis = std::env::var("PROWESS_RUN_LEASE_MS");
    let millis = millis.ok().and_then(|text| text.parse().ok());
    millis.map_or(LEASE, Duration::from_millis)
}

/// How often a lease is renewed.
fn renew_interval() -> Duration {
    lease_time() / 3
}

/// An owner that could not renew its lease stops this long before another may claim the run.
fn lease_margin() -> Duration {
    lease_time() / 5
}

/// How long events wait for others before they are stored together.
const FLUSH_INTERVAL: Duration = Duration::from_millis(40);
/// Bytes of events that wait to be stored; a run that writes faster waits.
const MAX_PENDING_BYTES: usize = 256 << 10;
/// Bytes of all events of a run.
const MAX_LOG_BYTES: u64 = 64 << 20;

/// Why the owner of a run must stop.
#[derive(Debug, thiserror::Error)]
pub enum JournalStop {
    /// Another server owns the run, or it has ended.
    #[error("another server owns the run")]
    Lost,
    /// The run is to be cancelled.
    #[error("the run is cancelled")]
    CancelRequested,
    /// Someone else has changed the container.
    #[error("another run has changed the container")]
    ContainerChanged,
    /// The run has written more events than are stored of one.
    #[error("the run has written more than {} MiB", MAX_LOG_BYTES >> 20)]
    LogFull,
    /// The store failed, so what was stored is unknown. The run is resumed when its lease has
    /// run out.
    #[error("the journal cannot be written: {0}")]
    Store(#[from] StoreError),
}

/// The journal of a run that this server owns.
#[derive(Debug)]
pub struct RunJournal {
    store: Store,
    run: String,
    owned: tokio::sync::Mutex<OwnedRun>,
    pending: Mutex<PendingEvents>,
    /// The number of the last stored event. Closed when this server stops running the run.
    stored: watch::Sender<i64>,
    /// Whether this server knows that the run is to be cancelled.
    cancelled: AtomicBool,
}

#[derive(Debug)]
struct OwnedRun {
    lease: RunLease,
    /// When the lease was last renewed, on this server's own clock.
    renewed: Instant,
}

#[derive(Debug)]
struct PendingEvents {
    /// The number of the first event that is not stored.
    next_seq: i64,
    /// JSON of events that are not stored yet.
    events: Vec<String>,
    bytes: usize,
    log_bytes: u64,
}

impl RunJournal {
    /// The journal of a run that was claimed at `claimed`, and what its log contains.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(crate) async fn open(
        store: Store,
        lease: RunLease,
        claimed: Instant,
    ) -> Result<(Arc<Self>, LogSummary), StoreError> {
        let mut summary = LogSummary::default();
        let (mut last, mut log_bytes) = (-1, 0);
        loop {
            let chunks = store.event_chunks(&lease.tenant, &lease.run, last).await?;
            let Some(end) = chunks.last() else {
                break;
            };
            last = end.last_seq;
            for chunk in &chunks {
                log_bytes += chunk.body.len() as u64;
                for event in parse_chunk(chunk)? {
                    summary.add(event);
                }
            }
        }
        let journal = RunJournal {
            store,
            run: lease.run.clone(),
            owned: tokio::sync::Mutex::new(OwnedRun {
                lease,
                renewed: claimed,
            }),
            pending: Mutex::new(PendingEvents {
                next_seq: last + 1,
                events: Vec::new(),
                bytes: 0,
                log_bytes,
            }),
            stored: watch::Sender::new(last),
            cancelled: AtomicBool::new(false),
        };
        Ok((Arc::new(journal), summary))
    }

    /// The run.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Changes when events were stored.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<i64> {
        self.stored.subscribe()
    }

    /// The lease, as of now.
    pub(crate) async fn lease(&self) -> RunLease {
        self.owned.lock().await.lease.clone()
    }

    /// Adds an event to the log. It is stored with the next flush or step.
    pub(crate) fn push(&self, event: &LogEvent) {
        // Events are plain data, which always has a form in JSON.
        let Ok(json) = serde_json::to_string(event) else {
            return;
        };
        let mut pending = self.pending();
        pending.bytes += json.len();
        pending.log_bytes += json.len() as u64;
        pending.events.push(json);
    }

    /// Adds the error with which the run ends to the log: its listeners must not take the end
    /// of their stream for the end of a response.
    pub fn log_error(&self, error: &ApiError) {
        let event = StreamEvent::Error(error.clone());
        self.push(&LogEvent::Response(Box::new(event)));
    }

    /// Waits if too many events are not stored yet.
    pub(crate) async fn wait_for_space(&self) -> Result<(), JournalStop> {
        let (bytes, log_bytes) = {
            let pending = self.pending();
            (pending.bytes, pending.log_bytes)
        };
        if log_bytes > MAX_LOG_BYTES {
            return Err(JournalStop::LogFull);
        }
        if bytes > MAX_PENDING_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    /// Stores the events that wait.
    pub(crate) async fn flush(&self) -> Result<(), JournalStop> {
        let owned = self.owned.lock().await;
        let Some(chunk) = self.take_pending() else {
            return Ok(());
        };
        let new = NewEventChunk {
            first_seq: chunk.first_seq,
            last_seq: chunk.last_seq,
            body: &chunk.body,
        };
        match self.store.append_events(&owned.lease, &new).await? {
            AppendOutcome::Committed => {
                self.set_stored(chunk.last_seq);
                fail_point("events-stored");
                Ok(())
            }
            _ => Err(JournalStop::Lost),
        }
    }

    /// Stores a finished step with what it produced, the events that wait, and these.
    pub(crate) async fn append(
        &self,
        step: &NewStep<'_>,
        mut changes: StepChanges,
        events: &[LogEvent],
    ) -> Result<(), JournalStop> {
        let mut owned = self.owned.lock().await;
        // Under the lock, so that they are not stored without the step.
        events.iter().for_each(|event| self.push(event));
        self.push(&LogEvent::StepStored);
        changes.events = self.take_pending();
        let last = changes.events.as_ref().map(|chunk| chunk.last_seq);
        let started = Instant::now();
        let appended = self
            .store
            .append_step(&mut owned.lease, step, changes, lease_time());
        match appended.await? {
            AppendOutcome::Committed => {
                owned.renewed = started;
                if let Some(last) = last {
                    self.set_stored(last);
                }
                Ok(())
            }
            AppendOutcome::CancelRequested => Err(JournalStop::CancelRequested),
            AppendOutcome::ContainerChanged => Err(JournalStop::ContainerChanged),
            AppendOutcome::Lost => Err(JournalStop::Lost),
        }
    }

    /// Ends the run, with the events that wait and the webhooks that announce it.
    ///
    /// # Errors
    /// When this server does not own the run any more, or the store failed.
    pub async fn end(
        &self,
        state: RunState,
        body: &str,
        webhooks: &[NewWebhook<'_>],
    ) -> Result<(), JournalStop> {
        let owned = self.owned.lock().await;
        let events = self.take_pending();
        let result = RunResult {
            state,
            body,
            events: events.as_ref(),
        };
        fail_point("before-end");
        match self.store.end_run(&owned.lease, &result, webhooks).await? {
            EndOutcome::Ended => {
                fail_point("ended");
                if let Some(events) = &events {
                    self.set_stored(events.last_seq);
                }
                Ok(())
            }
            EndOutcome::Lost => Err(JournalStop::Lost),
        }
    }

    /// Makes the run stop within a moment, after its cancellation was stored. Without this,
    /// its server finds out when it renews the lease.
    pub fn notice_cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Gives the run to whichever server claims it next.
    ///
    /// # Errors
    /// When the store cannot be written; the lease then runs out by itself.
    pub async fn release(&self) -> Result<(), StoreError> {
        let owned = self.owned.lock().await;
        self.store.release_lease(&owned.lease).await.map(drop)
    }

    /// Stores events and renews the lease until the owner must stop.
    pub(crate) async fn maintain(&self) -> JournalStop {
        let mut interval = tokio::time::interval(FLUSH_INTERVAL);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let result = match self.flush().await {
                Ok(()) => self.renew_if_due().await,
                Err(stop) => Err(stop),
            };
            if let Err(stop) = result {
                return stop;
            }
        }
    }

    async fn renew_if_due(&self) -> Result<(), JournalStop> {
        let mut owned = self.owned.lock().await;
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(JournalStop::CancelRequested);
        }
        if owned.renewed.elapsed() < renew_interval() {
            return Ok(());
        }
        let started = Instant::now();
        match self.store.renew_lease(&owned.lease, lease_time()).await {
            Ok(LeaseStatus::Held) => {
                owned.renewed = started;
                Ok(())
            }
            Ok(LeaseStatus::CancelRequested) => Err(JournalStop::CancelRequested),
            Ok(LeaseStatus::Lost) => Err(JournalStop::Lost),
            // Whatever the database answers, this server stops before another can own the run.
            Err(error) if owned.renewed.elapsed() + lease_margin() >= lease_time() => {
                Err(JournalStop::Store(error))
            }
            Err(error) => {
                tracing::warn!(%error, run = self.run, "cannot renew the lease of a run");
                Ok(())
            }
        }
    }

    /// The events up to this number are stored.
    fn set_stored(&self, last_seq: i64) {
        self.pending().next_seq = last_seq + 1;
        self.stored.send_replace(last_seq);
    }

    /// The events that wait. Their numbers are taken once they are stored: what a refused step
    /// would have stored leaves no gap.
    fn take_pending(&self) -> Option<EventChunk> {
        let mut pending = self.pending();
        let events = std::mem::take(&mut pending.events);
        pending.bytes = 0;
        let count = i64::try_from(events.len())
            .ok()
            .filter(|count| *count > 0)?;
        let first_seq = pending.next_seq;
        Some(EventChunk {
            first_seq,
            last_seq: first_seq + count - 1,
            body: format!("[{}]", events.join(",")),
        })
    }

    fn pending(&self) -> MutexGuard<'_, PendingEvents> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The events of a stored chunk.
///
/// # Errors
/// When something else has written it.
pub fn parse_chunk(chunk: &EventChunk) -> Result<Vec<LogEvent>, StoreError> {
    serde_json::from_str(&chunk.body).map_err(|error| StoreError::MalformedRow {
        table: "journal_events",
        reason: error.to_string(),
    })
}
