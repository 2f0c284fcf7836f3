//! Reads the events of a kept run as they are stored, whichever server runs it. While this
//! server runs it, its journal says when there is something to be read, and in a cluster the
//! gateway that runs it does. Besides, the runs of other servers are looked for in the store from
//! time to time.

use std::time::Duration;

use prowess_engine::{LogEvent, StoredLog, parse_chunk};
use prowess_store::{Error as StoreError, JournalRun, RunState, TenantId};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::app::App;
use crate::cluster::run_wakes::RunWakes;
use crate::tenant_requests::TenantRequest;

/// How often the events of a run are looked for that another server has.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// The same, if their server announces them: announcements may be lost.
const ANNOUNCED_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long the store may be unreachable before those who follow a run are told. A database that
/// is started again is back by then, and another server may have taken the run over.
const MAX_OUTAGE: Duration = Duration::from_secs(30);
/// How often the store is tried meanwhile.
const OUTAGE_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The least wait for each of those of a tenant who look at the same time, so that together they
/// do not look more often than a few.
const WAIT_PER_POLLER: Duration = Duration::from_millis(5);
/// The first time that is waited: this server may be about to start the run.
const FIRST_WAIT: Duration = Duration::from_millis(5);

/// The events of a run, in order.
pub(super) struct RunEvents {
    app: App,
    tenant: TenantId,
    run: String,
    /// The number of the last event that was read.
    last: i64,
    /// What is stored, if this server runs the run.
    stored: Option<watch::Receiver<StoredLog>>,
    /// Announcements of what is stored, while another gateway runs the run.
    wakes: Option<RunWakes>,
    /// How long to wait for a run that this server does not have.
    poll: Duration,
    /// Counts it among those of the tenant who wait so.
    polling: Option<TenantRequest>,
    /// Since when the store has failed. Those who follow a run drop [`next`](Self::next) to send
    /// a ping, and call it again.
    failing_since: Option<Instant>,
}

impl RunEvents {
    pub(super) fn new(app: &App, tenant: &TenantId, run: &str) -> Self {
        RunEvents {
            app: app.clone(),
            tenant: tenant.clone(),
            run: run.to_owned(),
            last: -1,
            stored: None,
            wakes: None,
            poll: FIRST_WAIT,
            polling: None,
            failing_since: None,
        }
    }

    /// The next events; none when the run has ended and all were read.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<LogEvent>>, StoreError> {
        loop {
            match self.try_next().await {
                Err(error) if error.is_transient() => self.wait_for_store(error).await?,
                found => return found,
            }
        }
    }

    /// The run as it is now, with its result if it has ended.
    pub(super) async fn read_run(&mut self) -> Result<JournalRun, StoreError> {
        loop {
            let found = self.app.store().journal_run(&self.tenant, &self.run);
            match found.await {
                Err(error) if error.is_transient() => self.wait_for_store(error).await?,
                found => return found,
            }
        }
    }

    /// Waits until the store is tried again.
    ///
    /// # Errors
    /// With the error of the store, if it has failed for too long.
    async fn wait_for_store(&mut self, error: StoreError) -> Result<(), StoreError> {
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        if since.elapsed() > MAX_OUTAGE {
            return Err(error);
        }
        tokio::time::sleep(OUTAGE_POLL_INTERVAL).await;
        Ok(())
    }

    async fn try_next(&mut self) -> Result<Option<Vec<LogEvent>>, StoreError> {
        loop {
            let stored = self.find_stored();
            let has_all = stored.is_some_and(|stored| stored.last_seq <= self.last);
            if has_all && stored.is_some_and(|stored| !stored.is_final) {
                self.wait_for_local().await;
                continue;
            }
            let state = match stored {
                Some(_) if !has_all => None,
                // Read before the events: after this, a run that has ended has no more.
                _ => {
                    let store = self.app.store();
                    Some(store.journal_state(&self.tenant, &self.run).await?)
                }
            };
            let read = self.read().await?;
            self.failing_since = None;
            if let Some(events) = read {
                return Ok(Some(events));
            }
            if state.is_some_and(RunState::is_terminal) {
                return Ok(None);
            }
            // Another server has the run, or nobody.
            self.stored = None;
            self.wait_for_other().await;
        }
    }

    /// Waits until the store is to be read again.
    async fn wait_for_other(&mut self) {
        if self.wakes.is_none()
            && let Some(link) = self.app.cluster()
        {
            self.wakes = Box::pin(link.watch_run(&self.run)).await;
            if self.wakes.is_some() {
                // Whatever is stored after the next reading is announced.
                return;
            }
        }
        let wait = self.poll.max(self.least_wait());
        let Some(wakes) = &mut self.wakes else {
            tokio::time::sleep(wait).await;
            self.poll = POLL_INTERVAL.min(self.poll * 2);
            return;
        };
        if !wakes.wait(wait).await {
            self.wakes = None;
            tokio::time::sleep(wait).await;
        }
        self.poll = ANNOUNCED_POLL_INTERVAL.min(self.poll * 2);
    }

    /// The share of this one in how often the tenant's may look.
    fn least_wait(&mut self) -> Duration {
        if self.polling.is_none() {
            self.polling = self.app.run_pollers().begin(&self.tenant).ok();
        }
        let polling = self.polling.as_ref().map_or(1, TenantRequest::active);
        WAIT_PER_POLLER.saturating_mul(u32::try_from(polling).unwrap_or(u32::MAX))
    }

    /// What is stored, as far as this server knows without asking the store.
    fn find_stored(&mut self) -> Option<StoredLog> {
        if self.stored.is_none() {
            self.stored = self.app.local_runs().subscribe(&self.run);
        }
        let stored = *self.stored.as_mut()?.borrow_and_update();
        self.polling = None;
        if !stored.is_final {
            self.poll = FIRST_WAIT;
            self.wakes = None;
        }
        Some(stored)
    }

    /// The next events that are stored.
    async fn read(&mut self) -> Result<Option<Vec<LogEvent>>, StoreError> {
        let store = self.app.store();
        let chunks = store.event_chunks(&self.tenant, &self.run, self.last);
        let chunks = chunks.await?;
        let Some(end) = chunks.last() else {
            return Ok(None);
        };
        let mut events = Vec::new();
        for chunk in &chunks {
            events.extend(parse_chunk(chunk)?);
        }
        self.last = end.last_seq;
        Ok(Some(events))
    }

    /// Waits until something is stored, or this server does not have the run any more.
    async fn wait_for_local(&mut self) {
        if let Some(stored) = &mut self.stored
            && stored.changed().await.is_err()
        {
            self.stored = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use prowess_store::{Store, StoreConfig};

    use super::*;
    use crate::settings::ServerSettings;

    /// As long as streams are silent before a ping.
    const PING: Duration = Duration::from_secs(15);

    #[tokio::test]
    async fn many_who_wait_for_the_same_tenants_runs_look_less_often() {
        let folder = tempfile::tempdir().unwrap();
        let config = StoreConfig::local(folder.path());
        let store = Store::open(&config).await.unwrap();
        let app = App::new(store, ServerSettings::default());
        let many = TenantId::default_tenant();
        let mut waiting: Vec<_> = (0..1_000)
            .map(|_| RunEvents::new(&app, &many, "run_1"))
            .collect();
        let waits: Vec<_> = waiting.iter_mut().map(RunEvents::least_wait).collect();
        assert_eq!(waits.first(), Some(&WAIT_PER_POLLER));
        assert_eq!(waits.last(), Some(&Duration::from_secs(5)));
        drop(waiting);
        let mut alone = RunEvents::new(&app, &many, "run_1");
        assert_eq!(alone.least_wait(), WAIT_PER_POLLER);
    }

    #[tokio::test]
    async fn a_follower_that_sends_pings_learns_of_an_outage() {
        let folder = tempfile::tempdir().unwrap();
        let config = StoreConfig::local(folder.path());
        let store = Store::open(&config).await.unwrap();
        let app = App::new(store.clone(), ServerSettings::default());
        store.close().await;
        tokio::time::pause();
        let mut events = RunEvents::new(&app, &TenantId::default_tenant(), "run_1");
        let began = Instant::now();
        let mut pings = 0;
        let error = loop {
            match tokio::time::timeout(PING, events.next()).await {
                Err(_) => pings += 1,
                Ok(next) => break next.unwrap_err(),
            }
            assert!(pings < 10, "an outage is not noticed");
        };
        assert!(error.is_transient(), "{error}");
        assert!(began.elapsed() > MAX_OUTAGE && pings == 2, "{pings}");
    }
}
