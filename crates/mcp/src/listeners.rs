//! Notification of changes of the tools, prompts or resources of a session.

use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionSink};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A notification that a listener does not accept in this time is dropped.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(2);

/// Which lists have changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ListChanges {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

impl ListChanges {
    /// All lists, as when the skills change.
    pub(crate) const ALL: ListChanges = ListChanges {
        tools: true,
        prompts: true,
        resources: true,
    };

    fn any(self) -> bool {
        self.tools || self.prompts || self.resources
    }
}

/// A receiver of notifications.
#[derive(Debug, Clone)]
pub(crate) enum Listener {
    /// A session that started with `initialize` gets all notifications.
    Session(Peer<RoleServer>),
    /// Since 2026-07-28 clients subscribe to particular notifications.
    Subscription(SubscriptionSink),
}

/// All listeners.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Mutex<ListenerState>);

#[derive(Debug, Default)]
struct ListenerState {
    /// Number of the next listener. Request ids are not unique across connections.
    next: u64,
    all: Vec<(u64, Listener)>,
    /// How often each list has changed.
    changes: ChangeCounters,
    /// The counters when subscriptions were accepted that have not started yet. The client
    /// learns of the acceptance before the start, and may cause a change in between.
    pending: VecDeque<ChangeCounters>,
}

/// How often the tools, the prompts and the resources have changed.
#[derive(Debug, Default, Clone, Copy)]
struct ChangeCounters {
    tools: u64,
    prompts: u64,
    resources: u64,
}

impl ChangeCounters {
    fn add(&mut self, changed: ListChanges) {
        self.tools += u64::from(changed.tools);
        self.prompts += u64::from(changed.prompts);
        self.resources += u64::from(changed.resources);
    }

    fn since(self, before: ChangeCounters) -> ListChanges {
        ListChanges {
            tools: self.tools > before.tools,
            prompts: self.prompts > before.prompts,
            resources: self.resources > before.resources,
        }
    }
}

/// Accepted subscriptions that have not started; more miss changes in between.
const MAX_PENDING_SUBSCRIPTIONS: usize = 64;

impl Listeners {
    /// Adds a listener, and returns the number to remove it.
    pub(crate) fn add(&self, listener: Listener) -> u64 {
        self.with_state(|state| state.add(listener))
    }

    /// Records that a subscription was accepted.
    pub(crate) fn accept(&self) {
        self.with_state(|state| {
            if state.pending.len() < MAX_PENDING_SUBSCRIPTIONS {
                state.pending.push_back(state.changes);
            }
        });
    }

    /// Starts a subscription, and notifies it of changes since it was accepted.
    pub(crate) async fn subscribe(&self, sink: SubscriptionSink) -> u64 {
        let listener = Listener::Subscription(sink);
        let (number, missed) = self.with_state(|state| {
            let before = state.pending.pop_front();
            let missed = before.map(|before| state.changes.since(before));
            (state.add(listener.clone()), missed)
        });
        listener.notify(missed.unwrap_or_default()).await;
        number
    }

    /// Removes a listener.
    pub(crate) fn remove(&self, number: u64) {
        self.with_state(|state| state.all.retain(|(one, _)| *one != number));
    }

    /// Notifies all listeners, and returns whether there are any. A slow one delays the
    /// others only for the timeout.
    pub(crate) async fn notify_all(&self, changed: ListChanges) -> bool {
        if !changed.any() {
            return false;
        }
        let all = self.with_state(|state| {
            state.changes.add(changed);
            state.all.retain(|(_, one)| !one.is_gone());
            state.all.clone()
        });
        let anybody = !all.is_empty();
        for (_, listener) in all {
            let notified = tokio::time::timeout(NOTIFY_TIMEOUT, listener.notify(changed)).await;
            if notified.is_err() {
                tracing::debug!("a listener did not accept a notification");
            }
        }
        anybody
    }

    fn with_state<T>(&self, then: impl FnOnce(&mut ListenerState) -> T) -> T {
        then(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ListenerState {
    fn add(&mut self, listener: Listener) -> u64 {
        let number = self.next;
        self.next += 1;
        self.all.push((number, listener));
        number
    }
}

impl Listener {
    fn is_gone(&self) -> bool {
        matches!(self, Listener::Session(peer) if peer.is_transport_closed())
    }

    /// A listener that is gone or not subscribed is skipped without an error.
    async fn notify(&self, changed: ListChanges) {
        match self {
            Listener::Session(peer) => {
                if changed.tools {
                    let _ = peer.notify_tool_list_changed().await;
                }
                if changed.prompts {
                    let _ = peer.notify_prompt_list_changed().await;
                }
                if changed.resources {
                    let _ = peer.notify_resource_list_changed().await;
                }
            }
            Listener::Subscription(sink) => {
                if changed.tools {
                    let _ = sink.notify_tool_list_changed().await;
                }
                if changed.prompts {
                    let _ = sink.notify_prompt_list_changed().await;
                }
                if changed.resources {
                    let _ = sink.notify_resource_list_changed().await;
                }
            }
        }
    }
}
