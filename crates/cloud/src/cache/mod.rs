//! Credentials that are kept, and refreshed before they expire.
//!
//! A request that finds valid credentials gets them without waiting for anything. Requests that
//! find none wait together for one fetch, up to a limit. All fetches are made by the refresher
//! (`refresher.rs`): one task, started by a request. It sleeps until the credentials are to be
//! refreshed, and ends if nobody used them since. Knows no cloud.

mod lifetime;
mod refresher;
mod state;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use self::state::{Availability, Shared};
use crate::clock::CloudClock;
use crate::error::CloudError;
use crate::source::CredentialSource;

/// How long a request waits for credentials.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Credentials of one source.
pub struct CredentialCache<T> {
    shared: Arc<Shared<T>>,
}

impl<T: Clone + Send + Sync + 'static> CredentialCache<T> {
    /// A cache without credentials; the first request fetches them.
    pub fn new(source: impl CredentialSource<Value = T>, clock: CloudClock) -> Self {
        CredentialCache {
            shared: Shared::new(source, clock),
        }
    }

    /// Credentials that are valid now. Waits only when none are. Needs a tokio runtime.
    pub async fn get(&self) -> Result<T, CloudError> {
        match self.ask() {
            Availability::Value(value) | Availability::ValueAndStart(value) => Ok(value),
            Availability::Failed(error) => Err(error),
            // Rare, and larger than the other ways.
            Availability::Wait | Availability::StartAndWait => Box::pin(self.wait()).await,
        }
    }

    /// Goes on with the credentials of a cache whose source is the same, while they are valid, and
    /// fetches new ones as soon as they are used. Those without an expiry are not taken over: what
    /// they were read from may be gone.
    pub fn take_over(&self, previous: &CredentialCache<T>) {
        self.shared.take_over(&previous.shared);
    }

    fn ask(&self) -> Availability<T> {
        let answer = self.shared.ask();
        if let Availability::ValueAndStart(_) | Availability::StartAndWait = answer {
            refresher::start(&self.shared);
        }
        answer
    }

    async fn wait(&self) -> Result<T, CloudError> {
        let deadline = Instant::now() + MAX_WAIT;
        loop {
            // Listens before it asks, so that no end of a fetch is missed.
            let mut finished = self.shared.listen();
            match self.ask() {
                Availability::Value(value) | Availability::ValueAndStart(value) => {
                    return Ok(value);
                }
                Availability::Failed(error) => return Err(error),
                Availability::Wait | Availability::StartAndWait => {}
            }
            if timeout_at(deadline, finished.changed()).await.is_err() {
                return Err(self.shared.timeout_error(MAX_WAIT));
            }
        }
    }
}

impl<T> fmt::Debug for CredentialCache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CredentialCache")
    }
}
