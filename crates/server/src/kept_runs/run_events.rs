//! Reads the events of a kept run as they are stored, whichever server runs it.

use std::time::Duration;

use prowess_engine::{LogEvent, parse_chunk};
use prowess_store::{Error as StoreError, JournalRun, TenantId};
use tokio::sync::watch;

use crate::app::App;

/// How often the events of a run are looked for that another server has.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// The first time that is waited: this server may be about to start the run.
const FIRST_WAIT: Duration = Duration::from_millis(5);

/// The events of a run, in order.
pub(super) struct RunEvents {
    app: App,
    tenant: TenantId,
    run: String,
    /// The number of the last event that was read.
    last: i64,
    stored: Option<watch::Receiver<i64>>,
    /// How long to wait for a run that this server does not have.
    poll: Duration,
    ended: Option<JournalRun>,
}

impl RunEvents {
    pub(super) fn new(app: &App, tenant: &TenantId, run: &str) -> Self {
        RunEvents {
            app: app.clone(),
            tenant: tenant.clone(),
            run: run.to_owned(),
            last: -1,
            stored: None,
            poll: FIRST_WAIT,
            ended: None,
        }
    }

    /// The next events; none when the run has ended and all were read.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<LogEvent>>, StoreError> {
        loop {
            if self.stored.is_none() {
                self.stored = self.app.local_runs().subscribe(&self.run);
            }
            if let Some(stored) = &mut self.stored {
                stored.mark_unchanged();
            }
            let store = self.app.store();
            // Read before the events: after this, a run that has ended has no more.
            let run = store.journal_run(&self.tenant, &self.run).await?;
            let chunks = store.event_chunks(&self.tenant, &self.run, self.last);
            let chunks = chunks.await?;
            if let Some(end) = chunks.last() {
                self.last = end.last_seq;
                let mut events = Vec::new();
                for chunk in &chunks {
                    events.extend(parse_chunk(chunk)?);
                }
                return Ok(Some(events));
            }
            if run.state.is_terminal() {
                self.ended = Some(run);
                return Ok(None);
            }
            self.wait().await;
        }
    }

    /// The run, after its last event was read.
    pub(super) fn ended(&self) -> Option<&JournalRun> {
        self.ended.as_ref()
    }

    async fn wait(&mut self) {
        let Some(stored) = &mut self.stored else {
            tokio::time::sleep(self.poll).await;
            self.poll = POLL_INTERVAL.min(self.poll * 2);
            return;
        };
        self.poll = FIRST_WAIT;
        // Also after a while: the end of a run may bring no event.
        if let Ok(Err(_)) = tokio::time::timeout(POLL_INTERVAL, stored.changed()).await {
            // This server does not have the run any more.
            self.stored = None;
        }
    }
}
