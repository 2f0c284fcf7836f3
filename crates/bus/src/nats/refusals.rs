//! What a server has refused to this connection.
//!
//! NATS tells of a missing permission some time after the message or the subscription, and names
//! only the subject. So whoever waits for something on a subject leaves a watch here, and a
//! subject on which publishing was refused is remembered for a moment.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

use crate::error::BusError;

/// How long a subject is remembered on which publishing was refused. Short, because an operator
/// may change permissions while we are connected.
const REMEMBERED_FOR: Duration = Duration::from_secs(5);
const MAX_REMEMBERED: usize = 256;

/// What can be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RefusedAction {
    Publish,
    Subscribe,
}

/// Something that a server refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Refusal {
    pub(super) action: RefusedAction,
    pub(super) subject: String,
}

/// The refusals of one connection.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    watches: HashMap<Refusal, Vec<Arc<WatchState>>>,
    recent: VecDeque<(Instant, String)>,
}

#[derive(Debug, Default)]
struct WatchState {
    refused: AtomicBool,
    waker: AtomicWaker,
}

/// Learns of one refusal. At most one task may poll it.
#[derive(Debug)]
pub(crate) struct RefusalWatch {
    refusals: Arc<Refusals>,
    of: Refusal,
    state: Arc<WatchState>,
}

impl Refusal {
    /// Reads what a server says: `Permissions Violation for Publish to "a.b"`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let what = lower.strip_prefix("permissions violation for ")?;
        let action = if what.starts_with("subscription") {
            RefusedAction::Subscribe
        } else {
            RefusedAction::Publish
        };
        let subject = text.split('"').nth(1)?.to_owned();
        Some(Refusal { action, subject })
    }

    fn error(&self) -> BusError {
        let subject = &self.subject;
        let why = match self.action {
            RefusedAction::Publish => {
                format!("publishing on `{subject}` is not permitted to this user")
            }
            RefusedAction::Subscribe => {
                format!("subscribing to `{subject}` is not permitted to this user")
            }
        };
        BusError::Refused { why }
    }
}

impl Refusals {
    /// Something was refused now.
    pub(super) fn record(&self, refusal: Refusal) {
        let mut state = self.lock();
        for watch in state.watches.get(&refusal).into_iter().flatten() {
            watch.refused.store(true, Ordering::Release);
            watch.waker.wake();
        }
        if refusal.action == RefusedAction::Publish {
            if state.recent.len() == MAX_REMEMBERED {
                state.recent.pop_front();
            }
            state.recent.push_back((Instant::now(), refusal.subject));
        }
    }

    /// Fails if publishing on a subject was refused a moment ago.
    pub(super) fn check_publish(&self, subject: &str) -> Result<(), BusError> {
        let mut state = self.lock();
        if state.recent.is_empty() {
            return Ok(());
        }
        let now = Instant::now();
        let is_old = |at: &Instant| now.duration_since(*at) > REMEMBERED_FOR;
        while state.recent.front().is_some_and(|(at, _)| is_old(at)) {
            state.recent.pop_front();
        }
        if state.recent.iter().any(|(_, refused)| refused == subject) {
            let refusal = Refusal {
                action: RefusedAction::Publish,
                subject: subject.to_owned(),
            };
            return Err(refusal.error());
        }
        Ok(())
    }

    /// Watches for a refusal from now on.
    pub(super) fn watch(self: &Arc<Self>, action: RefusedAction, subject: &str) -> RefusalWatch {
        let of = Refusal {
            action,
            subject: subject.to_owned(),
        };
        let state = Arc::new(WatchState::default());
        let mut refusals = self.lock();
        let watches = refusals.watches.entry(of.clone()).or_default();
        watches.push(Arc::clone(&state));
        drop(refusals);
        RefusalWatch {
            refusals: Arc::clone(self),
            of,
            state,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RefusalWatch {
    /// Waits until it is refused; for ever if it is not.
    pub(crate) async fn wait(&self) -> BusError {
        std::future::poll_fn(|context| match self.poll_refused(context) {
            true => Poll::Ready(self.of.error()),
            false => Poll::Pending,
        })
        .await
    }

    /// Whether it was refused; if not, the task is woken when it is.
    pub(super) fn poll_refused(&self, context: &Context<'_>) -> bool {
        self.state.waker.register(context.waker());
        self.state.refused.load(Ordering::Acquire)
    }

    /// The refusal, if there was one.
    pub(super) fn refusal(&self) -> Option<BusError> {
        let refused = self.state.refused.load(Ordering::Acquire);
        refused.then(|| self.of.error())
    }
}

impl Drop for RefusalWatch {
    fn drop(&mut self) {
        let mut refusals = self.refusals.lock();
        if let Some(watches) = refusals.watches.get_mut(&self.of) {
            watches.retain(|watch| !Arc::ptr_eq(watch, &self.state));
            if watches.is_empty() {
                refusals.watches.remove(&self.of);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_server_are_understood() {
        let refusal = |action, subject: &str| {
            let subject = subject.to_owned();
            Some(Refusal { action, subject })
        };
        let cases = [
            (
                "Permissions Violation for Publish to \"a.B\"",
                refusal(RefusedAction::Publish, "a.B"),
            ),
            (
                "Permissions Violation for Subscription to \"a.>\"",
                refusal(RefusedAction::Subscribe, "a.>"),
            ),
            (
                "Permissions Violation for Subscription to \"a\" using queue \"q\"",
                refusal(RefusedAction::Subscribe, "a"),
            ),
            ("Permissions Violation for Publish to a", None),
            ("Stale Connection", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Refusal::parse(text), expected, "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_ends_its_watches_and_is_forgotten() {
        let refusals = Arc::new(Refusals::default());
        let watch = refusals.watch(RefusedAction::Publish, "a");
        let other = refusals.watch(RefusedAction::Subscribe, "a");
        refusals.check_publish("a").unwrap();
        let subject = "a".to_owned();
        refusals.record(Refusal {
            action: RefusedAction::Publish,
            subject,
        });
        assert!(matches!(watch.wait().await, BusError::Refused { .. }));
        assert_eq!(other.refusal(), None);
        refusals.check_publish("a").unwrap_err();
        refusals.check_publish("b").unwrap();
        tokio::time::advance(REMEMBERED_FOR * 2).await;
        refusals.check_publish("a").unwrap();
        drop((watch, other));
        assert!(refusals.lock().watches.is_empty());
    }
}
