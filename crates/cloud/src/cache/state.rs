//! What requests and the refresher share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::lifetime::Current;
use crate::clock::CloudClock;
use crate::error::{CloudError, SAME_ERROR_FOR};
use crate::source::{CredentialSource, Issued};

/// The longest pause between fetches that fail while the old credentials are valid.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(30);

/// The shared part of a cache.
pub(super) struct Shared<T> {
    pub(super) source: Box<dyn CredentialSource<Value = T>>,
    clock: CloudClock,
    state: Mutex<State<T>>,
    /// Counts ended fetches.
    finished: watch::Sender<u64>,
    /// Wakes the refresher; not part of what it holds on to while it sleeps.
    pub(super) wake: Arc<Notify>,
}

struct State<T> {
    current: Option<Current<T>>,
    refresher: Refresher,
    /// Whether a request used the current credentials.
    used: bool,
    /// Failures since the last success.
    failures: u32,
    last_failure: Option<(Instant, CloudError)>,
}

/// What the refresher does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refresher {
    Stopped,
    Fetching,
    Sleeping,
}

/// What a request gets that needs credentials.
pub(super) enum Availability<T> {
    Value(T),
    /// The same, and the refresher is to be started.
    ValueAndStart(T),
    Failed(CloudError),
    /// They are being fetched.
    Wait,
    /// The same, and the refresher is to be started.
    StartAndWait,
}

/// What the refresher does after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterPause {
    Fetch,
    SleepOn,
    Stop,
}

impl<T: Clone + Send + Sync + 'static> Shared<T> {
    pub(super) fn new(
        source: impl CredentialSource<Value = T>,
        clock: CloudClock,
    ) -> Arc<Shared<T>> {
        Arc::new(Shared {
            source: Box::new(source),
            clock,
            state: Mutex::new(State {
                current: None,
                refresher: Refresher::Stopped,
                used: false,
                failures: 0,
                last_failure: None,
            }),
            finished: watch::Sender::new(0),
            wake: Arc::new(Notify::new()),
        })
    }

    /// Valid credentials, or what to do to get some. The refresher counts as started if it is
    /// to be.
    pub(super) fn ask(&self) -> Availability<T> {
        let (now, wall) = self.now();
        let mut state = self.lock();
        if let Some(value) = state.valid(now, wall) {
            let due = state.current.as_ref().map(|current| current.refresh_at);
            if state.refresher == Refresher::Stopped && due.is_some_and(|due| due <= now) {
                state.refresher = Refresher::Fetching;
                return Availability::ValueAndStart(value);
            }
            return Availability::Value(value);
        }
        let before = state.refresher;
        if before != Refresher::Fetching
            && let Some((at, error)) = &state.last_failure
            && now.duration_since(*at) < SAME_ERROR_FOR
        {
            return Availability::Failed(error.clone());
        }
        state.refresher = Refresher::Fetching;
        drop(state);
        match before {
            Refresher::Stopped => Availability::StartAndWait,
            Refresher::Sleeping => {
                self.wake.notify_one();
                Availability::Wait
            }
            Refresher::Fetching => Availability::Wait,
        }
    }

    /// Uses the credentials of another cache, if it has some that expire and are valid. They are
    /// due for a refresh at once.
    pub(super) fn take_over(&self, previous: &Shared<T>) {
        let (now, wall) = self.now();
        let current = previous.lock().current.clone();
        let usable = current.filter(|current| current.expires() && current.is_valid(now, wall));
        let mut state = self.lock();
        if let Some(current) = usable
            && state.current.is_none()
        {
            state.current = Some(current.due_at(now));
        }
    }

    /// Keeps the result of a fetch, and says when the next one is due; `None` if a request is
    /// to start it.
    pub(super) fn finish(&self, fetched: Result<Issued<T>, CloudError>) -> Option<Instant> {
        let (now, wall) = self.now();
        let mut state = self.lock();
        let next = match fetched.and_then(|issued| Current::new(issued, now, wall)) {
            Ok(current) => {
                let due = current.refresh_at;
                state.current = Some(current);
                state.used = false;
                state.failures = 0;
                state.last_failure = None;
                Some(due)
            }
            Err(error) => {
                let is_valid = state
                    .current
                    .as_ref()
                    .is_some_and(|c| c.is_valid(now, wall));
                tracing::warn!(%error, still_valid = is_valid, "credentials could not be fetched");
                state.failures = state.failures.saturating_add(1);
                state.last_failure = Some((now, error));
                is_valid.then(|| now + retry_pause(state.failures))
            }
        };
        state.refresher = match next {
            Some(_) => Refresher::Sleeping,
            None => Refresher::Stopped,
        };
        drop(state);
        self.finished
            .send_modify(|count| *count = count.wrapping_add(1));
        next
    }

    /// What to do after a pause that was to last until `due`.
    pub(super) fn after_pause(&self, due: Instant) -> AfterPause {
        let (now, _) = self.now();
        let mut state = self.lock();
        match state.refresher {
            // A request asked for it.
            Refresher::Fetching => AfterPause::Fetch,
            // Woken by a request that another fetch has served since.
            _ if now < due => AfterPause::SleepOn,
            _ if state.used || state.failures > 0 => {
                state.refresher = Refresher::Fetching;
                AfterPause::Fetch
            }
            _ => {
                state.refresher = Refresher::Stopped;
                AfterPause::Stop
            }
        }
    }

    /// The refresher is gone before it finished, with its runtime: the next request, or one
    /// that waits, starts another.
    pub(super) fn abandon(&self, panicked: bool) {
        let mut state = self.lock();
        state.refresher = Refresher::Stopped;
        if panicked {
            let error = CloudError::refused("the source", "it failed; this is a bug");
            state.last_failure = Some((Instant::now(), error));
        }
        drop(state);
        self.finished
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(super) fn listen(&self) -> watch::Receiver<u64> {
        self.finished.subscribe()
    }

    /// The error of a request that waited too long: the last known reason is the better one.
    pub(super) fn timeout_error(&self, waited: Duration) -> CloudError {
        let state = self.lock();
        let known = state.last_failure.as_ref().map(|(_, error)| error.clone());
        known.unwrap_or(CloudError::TooSlow(waited))
    }

    fn now(&self) -> (Instant, SystemTime) {
        (Instant::now(), self.clock.now())
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // A sleeping refresher finds nothing to refresh, and ends.
        self.wake.notify_one();
    }
}

impl<T: Clone> State<T> {
    fn valid(&mut self, now: Instant, wall: SystemTime) -> Option<T> {
        let current = self.current.as_ref()?;
        if !current.is_valid(now, wall) {
            return None;
        }
        self.used = true;
        Some(current.value.clone())
    }
}

/// Doubles with every failure, at random by a fifth.
fn retry_pause(failures: u32) -> Duration {
    let doubled = SAME_ERROR_FOR * 2_u32.saturating_pow(failures.min(10).saturating_sub(1));
    doubled
        .min(MAX_RETRY_PAUSE)
        .mul_f64(1.0 - fastrand::f64() / 5.0)
}
