//! Messages about single runs: that there are new events, and that one is to be cancelled.

use std::time::Duration;

use prowess_bus::Subscription;
use prowess_engine::StoredLog;
use serde_json::json;
use tokio::sync::watch;

use super::link::ClusterLink;

/// Says when there may be new events of a run that another gateway has.
#[derive(Debug)]
pub(crate) struct RunWakes(Subscription);

impl RunWakes {
    /// Waits for new events, at most so long. False if none will be announced any more.
    pub(crate) async fn wait(&mut self, longest: Duration) -> bool {
        match tokio::time::timeout(longest, self.0.next()).await {
            Ok(message) => message.is_some(),
            Err(_) => true,
        }
    }
}

impl ClusterLink {
    /// Announces the events of a run that this gateway has, whenever some were stored, until it
    /// stores no more.
    pub(crate) async fn announce_events(self, run: String, mut stored: watch::Receiver<StoredLog>) {
        let subject = self.subjects().run_events(&run);
        while stored.changed().await.is_ok() {
            let stored = *stored.borrow_and_update();
            let content = json!({ "last": stored.last_seq });
            self.publish(&subject, &content).await;
            if stored.is_final {
                return;
            }
        }
    }

    /// Announces that a run has ended which no gateway had.
    pub(crate) fn announce_end(&self, run: &str) {
        self.queue(self.subjects().run_events(run), &json!({}));
    }

    /// Announces that a run is to be cancelled, which is stored already.
    pub(crate) fn announce_cancel(&self, run: &str) {
        self.queue(self.subjects().run_control(run), &json!({}));
    }

    /// Says from now on when there may be new events of a run.
    pub(crate) async fn watch_run(&self, run: &str) -> Option<RunWakes> {
        let subject = self.subjects().run_events(run);
        match self.bus().subscribe(&subject).await {
            Ok(subscription) => Some(RunWakes(subscription)),
            Err(error) => {
                tracing::debug!(%error, run, "the events of a run are looked for in the store only");
                None
            }
        }
    }
}
