//! The journal of one kept run, as its owner writes it: the lease, finished steps, and the
//! events that listeners receive.
//!
//! Everything is written under one lock, so that events and steps are stored in the order in
//! which they happened. It does not know what a step contains.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prowess_sandbox::RunOwnership;
use prowess_store::{
    AppendOutcome, EndOutcome, Error as StoreError, EventChunk, LeaseStatus, NewEventChunk,
    NewStep, NewWebhook, RunLease, RunResult, RunState, StepChanges, Store,
};
use prowess_wire::neutral::{ApiError, StreamEvent};
use tokio::sync::watch;

use super::fail_point::fail_point;
use super::journal_stop::{JournalStop, MAX_LOG_BYTES};
use super::lease_times::{lease_margin, lease_time, renew_interval};
use super::log_event::{LogEvent, LogSummary};
use super::pending_events::PendingEvents;

#[cfg(test)]
mod tests;

/// How long events wait for others before they are stored together. Steps store what waits, so a
/// run with quick steps stores nothing apart.
const FLUSH_INTERVAL: Duration = Duration::from_millis(40);
/// How long it is tried to note that a run is given up, and how often: the database is back by then,
/// if that is why.
const GIVE_UP_TIME: Duration = Duration::from_secs(60);
const GIVE_UP_INTERVAL: Duration = Duration::from_millis(500);
/// Bytes of events that wait to be stored; a run that writes faster waits.
const MAX_PENDING_BYTES: usize = 256 << 10;

/// What listeners can read of a log, as the owner of its run knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredLog {
    /// The number of the last stored event; -1 if there is none.
    pub last_seq: i64,
    /// Whether this server stores no more, because it has ended the run or given it up.
    pub is_final: bool,
}

/// The journal of a run that this server owns.
#[derive(Debug)]
pub struct RunJournal {
    store: Store,
    run: String,
    owned: tokio::sync::Mutex<OwnedRun>,
    /// When the lease was last renewed, on this server's own clock. Apart from [`Self::owned`],
    /// whose lock is held while the store does not answer a write.
    renewed: Mutex<Instant>,
    pending: Mutex<PendingEvents>,
    /// Closed when this server stops running the run.
    stored: watch::Sender<StoredLog>,
    /// Whether this server knows that the run is to be cancelled.
    cancelled: AtomicBool,
    /// Whether it still has the run: if not, the commands that it waits for are the next server's.
    ownership: RunOwnership,
    /// Ends [`maintain`](Self::maintain).
    is_over: watch::Sender<bool>,
}

#[derive(Debug)]
struct OwnedRun {
    lease: RunLease,
    /// Whether it was handed over, so that this server writes nothing more: what it wrote would
    /// renew the lease before another server has claimed the run.
    is_handed_over: bool,
}

impl RunJournal {
    /// The journal of a run that has just begun.
    pub(crate) fn begin(store: Store, lease: RunLease, claimed: Instant) -> Arc<Self> {
        Self::new(store, lease, claimed, -1, 0)
    }

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
        let journal = Self::new(store, lease, claimed, last, log_bytes);
        Ok((journal, summary))
    }

    fn new(
        store: Store,
        lease: RunLease,
        claimed: Instant,
        last_seq: i64,
        log_bytes: u64,
    ) -> Arc<Self> {
        Arc::new(RunJournal {
            store,
            run: lease.run.clone(),
            owned: tokio::sync::Mutex::new(OwnedRun {
                lease,
                is_handed_over: false,
            }),
            renewed: Mutex::new(claimed),
            pending: Mutex::new(PendingEvents::after(last_seq, log_bytes)),
            stored: watch::Sender::new(StoredLog {
                last_seq,
                is_final: false,
            }),
            cancelled: AtomicBool::new(false),
            ownership: RunOwnership::default(),
            is_over: watch::Sender::new(false),
        })
    }

    /// The run.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Whether this server still has the run, as far as it knows.
    pub(crate) fn ownership(&self) -> &RunOwnership {
        &self.ownership
    }

    /// Changes when events were stored, and when this server stores no more.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<StoredLog> {
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
        self.pending().push(json);
    }

    /// Adds the error with which the run ends to the log: its listeners must not take the end
    /// of their stream for the end of a response.
    pub fn log_error(&self, error: &ApiError) {
        let event = StreamEvent::Error(error.clone());
        self.push(&LogEvent::Response(Box::new(event)));
    }

    /// Waits if too many events are not stored yet.
    pub(crate) async fn wait_for_space(&self) -> Result<(), JournalStop> {
        let (bytes, log_bytes) = self.pending().sizes();
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
        let flushed = self.store_pending().await;
        self.note_loss(flushed)
    }

    async fn store_pending(&self) -> Result<(), JournalStop> {
        let owned = self.owned.lock().await;
        owned.check()?;
        let Some(chunk) = self.pending().take() else {
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
                // What only watchers see may be stored before the response begins.
                if cfg!(debug_assertions) && chunk.body.contains("{\"response\":") {
                    fail_point("events-stored");
                }
                Ok(())
            }
            _ => Err(JournalStop::Lost),
        }
    }

    /// Stores a finished step with what it produced, the events that wait, and these.
    pub(crate) async fn append(
        &self,
        step: &NewStep<'_>,
        changes: StepChanges,
        events: &[LogEvent],
    ) -> Result<(), JournalStop> {
        let stored = self.store_step(step, changes, events).await;
        self.note_loss(stored)
    }

    async fn store_step(
        &self,
        step: &NewStep<'_>,
        mut changes: StepChanges,
        events: &[LogEvent],
    ) -> Result<(), JournalStop> {
        let mut owned = self.owned.lock().await;
        owned.check()?;
        // Under the lock, so that they are not stored without the step.
        events.iter().for_each(|event| self.push(event));
        self.push(&LogEvent::StepStored);
        changes.events = self.pending().take();
        let last = changes.events.as_ref().map(|chunk| chunk.last_seq);
        let started = Instant::now();
        let appended = self
            .store
            .append_step(&mut owned.lease, step, changes, lease_time());
        match appended.await? {
            AppendOutcome::Committed => {
                self.set_renewed(started);
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
        owned.check()?;
        let events = self.pending().take();
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
                self.stored.send_modify(|stored| stored.is_final = true);
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
        self.store.release_lease(&owned.lease).await?;
        self.stored.send_modify(|stored| stored.is_final = true);
        Ok(())
    }

    /// Leaves the run to whichever server claims it when its lease has run out: this one cannot go
    /// on with it now, and has not died of it. It is noted once the store takes it, which may be why
    /// the run is given up.
    ///
    /// # Errors
    /// When the store cannot be written for too long.
    pub async fn give_up(&self) -> Result<(), StoreError> {
        // Another server may store events meanwhile.
        self.stored.send_modify(|stored| stored.is_final = true);
        let lease = self.lease().await;
        let deadline = tokio::time::Instant::now() + GIVE_UP_TIME;
        loop {
            match self.store.give_up_run(&lease).await {
                Err(error) if error.is_transient() && tokio::time::Instant::now() < deadline => {
                    tokio::time::sleep(GIVE_UP_INTERVAL).await;
                }
                given_up => return given_up.map(drop),
            }
        }
    }

    /// Puts the run back into the queue: it has no finished step, and cannot begin now. Returns
    /// whether it is there: not if this server has lost it, or it is to be cancelled.
    ///
    /// # Errors
    /// When the store cannot be written; the lease then runs out by itself.
    pub async fn postpone(&self) -> Result<bool, StoreError> {
        let owned = self.owned.lock().await;
        let is_queued = self.store.postpone_run(&owned.lease).await?;
        if is_queued {
            self.stored.send_modify(|stored| stored.is_final = true);
        }
        Ok(is_queued)
    }

    /// Writes nothing more of the run, which is about to be handed over.
    pub async fn stop_writing(&self) {
        self.owned.lock().await.is_handed_over = true;
    }

    /// Gives the run to whichever server claims it next, and writes nothing more of it. What the
    /// run waits for goes on, so that a command is not ended which the next server finds by its
    /// id; the run stops where it would write.
    ///
    /// # Errors
    /// When the store cannot be written; the lease then runs out by itself.
    pub async fn hand_over(&self) -> Result<(), StoreError> {
        let mut owned = self.owned.lock().await;
        owned.is_handed_over = true;
        self.store.release_lease(&owned.lease).await?;
        self.stored.send_modify(|stored| stored.is_final = true);
        Ok(())
    }

    /// Stores events and renews the lease until the owner must stop, which it returns, or
    /// [`end_maintenance`](Self::end_maintenance) is called. What it is writing then is written:
    /// a transaction that is dropped may be committed or not. The owner must stop too if the
    /// store has not answered when the lease is about to run out.
    pub(crate) async fn maintain(&self) -> Option<JournalStop> {
        let mut is_over = self.is_over.subscribe();
        let mut wait = FLUSH_INTERVAL;
        loop {
            tokio::select! {
                biased;
                _ = is_over.wait_for(|is_over| *is_over) => return None,
                () = tokio::time::sleep(wait) => {}
            }
            wait = FLUSH_INTERVAL.saturating_sub(self.pending().longest_wait());
            let is_due = wait.is_zero();
            if is_due {
                wait = FLUSH_INTERVAL;
            }
            let writing = async {
                let result = self.note_loss(self.flush_and_renew(is_due).await);
                // Read last: what is refused because of it is no loss. A step may have the lock,
                // and get no answer either.
                (result, self.owned.lock().await.is_handed_over)
            };
            let (result, is_handed_over) = tokio::select! {
                biased;
                written = writing => written,
                // Returned at once: the write that the store does not answer has the lock.
                () = self.lease_end() => {
                    return self.note_loss(Err(JournalStop::LeaseOver)).err();
                }
            };
            if is_handed_over {
                // A command that is given up from here on is the next server's.
                self.ownership.set_lost();
                // The sender is here, so there is always a value.
                let _ = is_over.wait_for(|is_over| *is_over).await;
                return None;
            }
            if let Err(stop) = result {
                return Some(stop);
            }
        }
    }

    async fn flush_and_renew(&self, is_flush_due: bool) -> Result<(), JournalStop> {
        if is_flush_due {
            self.flush().await?;
        }
        self.renew_if_due().await
    }

    /// Waits until this server must stop, because the store does not answer. If the process itself
    /// did not run for longer than its lease, the store still has a moment to answer: it knows who
    /// owns the run.
    async fn lease_end(&self) {
        let mut wait = self.time_to_stop().max(lease_margin());
        while !wait.is_zero() {
            let start = Instant::now();
            tokio::time::sleep(wait).await;
            wait = match start.elapsed() > wait + lease_margin() {
                true => lease_margin(),
                false => self.time_to_stop(),
            };
        }
    }

    /// How long this server may go on if it cannot renew the lease.
    fn time_to_stop(&self) -> Duration {
        let safe = lease_time().saturating_sub(lease_margin());
        safe.saturating_sub(self.renewed().elapsed())
    }

    /// The run has ended on this server: [`maintain`](Self::maintain) begins nothing more.
    pub(crate) fn end_maintenance(&self) {
        self.is_over.send_replace(true);
    }

    async fn renew_if_due(&self) -> Result<(), JournalStop> {
        let owned = self.owned.lock().await;
        if owned.is_handed_over {
            return Ok(());
        }
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(JournalStop::CancelRequested);
        }
        if self.renewed().elapsed() < renew_interval() {
            return Ok(());
        }
        let started = Instant::now();
        match self.store.renew_lease(&owned.lease, lease_time()).await {
            Ok(LeaseStatus::Held) => {
                self.set_renewed(started);
                Ok(())
            }
            Ok(LeaseStatus::CancelRequested) => Err(JournalStop::CancelRequested),
            Ok(LeaseStatus::Lost) => Err(JournalStop::Lost),
            // Whatever the database answers, this server stops before another can own the run.
            Err(error) if self.time_to_stop().is_zero() => Err(JournalStop::Store(error)),
            Err(error) => {
                tracing::warn!(%error, run = self.run, "cannot renew the lease of a run");
                Ok(())
            }
        }
    }

    /// Notes whether the run is lost, before it is given up with the commands that it waits for.
    fn note_loss(&self, result: Result<(), JournalStop>) -> Result<(), JournalStop> {
        if let Err(JournalStop::Lost | JournalStop::LeaseOver | JournalStop::Store(_)) = &result {
            self.ownership.set_lost();
        }
        result
    }

    fn renewed(&self) -> Instant {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_renewed(&self, at: Instant) {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// The events up to this number are stored.
    fn set_stored(&self, last_seq: i64) {
        self.pending().set_stored(last_seq);
        self.stored.send_modify(|stored| stored.last_seq = last_seq);
    }

    fn pending(&self) -> MutexGuard<'_, PendingEvents> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnedRun {
    fn check(&self) -> Result<(), JournalStop> {
        match self.is_handed_over {
            true => Err(JournalStop::Lost),
            false => Ok(()),
        }
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
