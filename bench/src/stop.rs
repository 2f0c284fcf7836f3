//! The end of background work: on request, and in any case at a deadline.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// Ends the work that was given its [`Stop`]s; also when dropped.
#[derive(Debug)]
pub struct StopSource(watch::Sender<bool>);

/// Says when to end.
#[derive(Debug, Clone)]
pub struct Stop {
    requested: watch::Receiver<bool>,
    deadline: Instant,
}

impl StopSource {
    /// Work may go on for `limit` at most.
    pub fn within(limit: Duration) -> (StopSource, Stop) {
        let (sender, requested) = watch::channel(false);
        let deadline = Instant::now() + limit;
        let stop = Stop {
            requested,
            deadline,
        };
        (StopSource(sender), stop)
    }

    /// Ends the work.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Whether to end now.
    pub fn is_due(&self) -> bool {
        let gone = self.requested.has_changed().is_err();
        gone || *self.requested.borrow() || Instant::now() >= self.deadline
    }

    /// Waits until it is time to end.
    pub async fn due(&self) {
        let mut requested = self.requested.clone();
        // An error means that the source is gone, which ends the work too.
        let ended = requested.wait_for(|requested| *requested);
        let _ = tokio::time::timeout_at(self.deadline, ended).await;
    }

    /// Waits for `time`, or less when it is time to end.
    pub async fn pause(&self, time: Duration) {
        let _ = tokio::time::timeout(time, self.due()).await;
    }

    /// Runs work until it is done; none when it was time to end before.
    pub async fn unless_due<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.due() => None,
        }
    }
}
