//! The loop that starts requests and collects results, on one server at a time.
//!
//! Reading a file of requests and writing files of results take long, so they have tasks of
//! their own: a few at once, and one per tenant.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prowess_store::{BatchRecord, BatchState, Result as StoreResult, Store, TenantId, Timestamp};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::finish::finish;
use super::runs::BatchRuns;
use super::settings::BatchSettings;
use super::steps::ScheduleSteps;
use super::validate::validate;

/// How long a server schedules batches without renewing its lease.
const LEASE: Duration = Duration::from_secs(15);
const RENEWAL_INTERVAL: Duration = Duration::from_secs(5);
/// How often the store is read for changes of other servers: while batches are open, and
/// otherwise.
const OPEN_INTERVAL: Duration = Duration::from_millis(250);
const IDLE_INTERVAL: Duration = Duration::from_secs(2);
/// How long to wait after a failure of the store.
const FAILURE_DELAY: Duration = Duration::from_secs(1);
/// Files read or written at once.
const MAX_FILE_TASKS: usize = 4;
/// How long a batch is left alone whose files could not be read or written, at first and at
/// most.
const FILE_RETRY_DELAY: Duration = Duration::from_secs(10);
const MAX_FILE_RETRY_DELAY: Duration = Duration::from_secs(300);
/// Tenants whose batches are considered for files in one round.
const MAX_FILE_TENANTS: u32 = 1_000;

/// Schedules the batches of all tenants.
pub(crate) struct BatchScheduler<R> {
    steps: ScheduleSteps<R>,
    /// Maximum bytes of one request.
    max_request_bytes: usize,
    /// Says the limits of now, if they can change.
    limits: Option<CurrentLimits>,
    owner: String,
    leased_at: Option<Instant>,
    files: JoinSet<FileTaskEnd>,
    busy_tenants: HashSet<TenantId>,
    /// Batches whose files could not be read or written.
    failed_files: HashMap<String, FileRetry>,
}

/// The settings of now, and the maximum bytes of one request.
type CurrentLimits = Box<dyn Fn() -> (BatchSettings, usize) + Send + Sync>;

/// When the files of a batch are read or written again.
#[derive(Clone, Copy)]
struct FileRetry {
    at: Instant,
    delay: Duration,
}

/// What a task about files was for, and whether it succeeded.
struct FileTaskEnd {
    batch: String,
    tenant: TenantId,
    result: StoreResult<()>,
}

impl<R: BatchRuns> BatchScheduler<R> {
    /// `owner` names this server among those with the same store.
    pub(crate) fn new(
        store: Store,
        settings: BatchSettings,
        max_request_bytes: usize,
        runs: R,
        owner: String,
    ) -> BatchScheduler<R> {
        BatchScheduler {
            steps: ScheduleSteps::new(store, settings, runs),
            max_request_bytes,
            limits: None,
            owner,
            leased_at: None,
            files: JoinSet::new(),
            busy_tenants: HashSet::new(),
            failed_files: HashMap::new(),
        }
    }

    /// Asks for the limits before each round, as the configuration can change.
    pub(crate) fn with_limits(
        mut self,
        limits: impl Fn() -> (BatchSettings, usize) + Send + Sync + 'static,
    ) -> BatchScheduler<R> {
        self.limits = Some(Box::new(limits));
        self
    }

    /// Schedules until `stop` is cancelled. `wake` is notified when there may be more to do.
    pub(crate) async fn run(mut self, wake: Arc<Notify>, stop: CancellationToken) {
        loop {
            let delay = match self.schedule_once().await {
                Ok(RoundEnd::Changed) => Duration::ZERO,
                Ok(RoundEnd::Unchanged) => OPEN_INTERVAL,
                Ok(RoundEnd::Idle) => IDLE_INTERVAL,
                Err(error) => {
                    tracing::warn!(%error, "batches cannot be scheduled");
                    FAILURE_DELAY
                }
            };
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(delay) => {}
                () = wake.notified() => {}
                Some(ended) = self.files.join_next() => self.note_file_task(ended.ok()),
            }
        }
        // Tasks about files end with this; another server begins them anew.
        self.files.shutdown().await;
        let store = &self.steps.store;
        if self.leased_at.is_some()
            && let Err(error) = store.release_batch_scheduler(&self.owner).await
        {
            tracing::debug!(%error, "the lease of the batch scheduler was not released");
        }
    }

    /// One round of the loop: of all steps, if there are batches and no other server
    /// schedules them.
    pub(super) async fn schedule_once(&mut self) -> StoreResult<RoundEnd> {
        if let Some(limits) = &self.limits {
            (self.steps.settings, self.max_request_bytes) = limits();
        }
        if !self.steps.store.has_open_batches().await? {
            return Ok(RoundEnd::Idle);
        }
        if !self.renew_lease().await? {
            return Ok(RoundEnd::Idle);
        }
        while let Some(ended) = self.files.try_join_next() {
            self.note_file_task(ended.ok());
        }
        self.start_file_tasks().await?;
        match self.steps.round(Timestamp::now()).await? {
            true => Ok(RoundEnd::Changed),
            false => Ok(RoundEnd::Unchanged),
        }
    }

    async fn renew_lease(&mut self) -> StoreResult<bool> {
        let is_fresh = |at: Instant| at.elapsed() < RENEWAL_INTERVAL;
        if self.leased_at.is_some_and(is_fresh) {
            return Ok(true);
        }
        let now = Instant::now();
        let store = &self.steps.store;
        let is_held = store.lease_batch_scheduler(&self.owner, LEASE).await?;
        self.leased_at = is_held.then_some(now);
        Ok(is_held)
    }

    async fn start_file_tasks(&mut self) -> StoreResult<()> {
        // Others may have ended a batch that failed here.
        let now = Instant::now();
        self.failed_files
            .retain(|_, retry| now < retry.at + MAX_FILE_RETRY_DELAY);
        // Finalizing first: it frees what validating needs.
        for state in [BatchState::Finalizing, BatchState::Validating] {
            if self.files.len() >= MAX_FILE_TASKS {
                break;
            }
            let store = &self.steps.store;
            let batches = store
                .oldest_batches_in_state(state, MAX_FILE_TENANTS)
                .await?;
            for batch in batches {
                if self.files.len() < MAX_FILE_TASKS
                    && self
                        .failed_files
                        .get(&batch.id)
                        .is_none_or(|retry| retry.at <= now)
                    && self.busy_tenants.insert(batch.tenant.clone())
                {
                    self.start_file_task(batch);
                }
            }
        }
        Ok(())
    }

    fn start_file_task(&mut self, batch: BatchRecord) {
        let store = self.steps.store.clone();
        let (settings, max_bytes) = (self.steps.settings, self.max_request_bytes);
        self.files.spawn(async move {
            let result = match batch.state {
                BatchState::Finalizing => finish(&store, &batch, Timestamp::now()).await,
                _ => validate(&store, &settings, max_bytes, &batch).await,
            };
            FileTaskEnd {
                batch: batch.id,
                tenant: batch.tenant,
                result,
            }
        });
    }

    /// Waits for all tasks about files; returns whether there was one.
    #[cfg(test)]
    pub(super) async fn finish_file_tasks(&mut self) -> bool {
        let mut any = false;
        while let Some(ended) = self.files.join_next().await {
            self.note_file_task(ended.ok());
            any = true;
        }
        any
    }

    fn note_file_task(&mut self, ended: Option<FileTaskEnd>) {
        let Some(ended) = ended else {
            // A task that panicked does not name its tenant.
            self.busy_tenants.clear();
            return;
        };
        self.busy_tenants.remove(&ended.tenant);
        let Err(error) = ended.result else {
            self.failed_files.remove(&ended.batch);
            return;
        };
        tracing::warn!(batch = ended.batch, %error, "the files of a batch have to wait");
        let before = self.failed_files.get(&ended.batch);
        let delay = before.map_or(FILE_RETRY_DELAY, |retry| retry.delay * 2);
        let delay = delay.min(MAX_FILE_RETRY_DELAY);
        let at = Instant::now() + delay;
        self.failed_files
            .insert(ended.batch, FileRetry { at, delay });
    }
}

/// What one round has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoundEnd {
    Changed,
    Unchanged,
    /// No batch is open, or another server schedules.
    Idle,
}
