//! Who is told when the tools, prompts or resources of a session change.

use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionSink};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A listener that does not take a notification for this long misses it.
const PATIENCE: Duration = Duration::from_secs(2);

/// What has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

impl Changed {
    /// Everything, as when the skills are others.
    pub(crate) const ALL: Changed = Changed {
        tools: true,
        prompts: true,
        resources: true,
    };

    fn any(self) -> bool {
        self.tools || self.prompts || self.resources
    }
}

/// How somebody is told.
#[derive(Debug, Clone)]
pub(crate) enum Listener {
    /// A session that began with `initialize` is told everything.
    Session(Peer<RoleServer>),
    /// Since 2026-07-28 clients say what they want to hear.
    Subscription(SubscriptionSink),
}

/// All who listen.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Mutex<Listening>);

#[derive(Debug, Default)]
struct Listening {
    /// Whoever comes next gets this number. Ids of requests would not do: those of two
    /// connections may be the same.
    next: u64,
    all: Vec<(u64, Listener)>,
    /// How often each list has changed.
    changes: Changes,
    /// What that was when subscriptions were accepted that have not begun yet. The client is
    /// told before they begin, and may cause a change in between.
    accepted: VecDeque<Changes>,
}

/// How often the tools, the prompts and the resources have changed.
#[derive(Debug, Default, Clone, Copy)]
struct Changes {
    tools: u64,
    prompts: u64,
    resources: u64,
}

impl Changes {
    fn count(&mut self, changed: Changed) {
        self.tools += u64::from(changed.tools);
        self.prompts += u64::from(changed.prompts);
        self.resources += u64::from(changed.resources);
    }

    fn since(self, before: Changes) -> Changed {
        Changed {
            tools: self.tools > before.tools,
            prompts: self.prompts > before.prompts,
            resources: self.resources > before.resources,
        }
    }
}

/// Subscriptions between their acceptance and their beginning; more miss what happens then.
const MOST_ACCEPTED: usize = 64;

impl Listeners {
    /// Adds one, and returns what it is removed by.
    pub(crate) fn add(&self, listener: Listener) -> u64 {
        self.with(|listening| listening.add(listener))
    }

    /// Notes that a subscription will begin.
    pub(crate) fn accept(&self) {
        self.with(|listening| {
            if listening.accepted.len() < MOST_ACCEPTED {
                listening.accepted.push_back(listening.changes);
            }
        });
    }

    /// Begins a subscription: tells it what it has missed since it was accepted.
    pub(crate) async fn subscribe(&self, sink: SubscriptionSink) -> u64 {
        let listener = Listener::Subscription(sink);
        let (number, missed) = self.with(|listening| {
            let before = listening.accepted.pop_front();
            let missed = before.map(|before| listening.changes.since(before));
            (listening.add(listener.clone()), missed)
        });
        listener.tell(missed.unwrap_or_default()).await;
        number
    }

    /// Forgets one who listens no more.
    pub(crate) fn remove(&self, number: u64) {
        self.with(|listening| listening.all.retain(|(one, _)| *one != number));
    }

    /// Tells all who listen, and returns whether anybody does. One that cannot be told
    /// holds up nobody for long.
    pub(crate) async fn tell(&self, changed: Changed) -> bool {
        if !changed.any() {
            return false;
        }
        let all = self.with(|listening| {
            listening.changes.count(changed);
            listening.all.retain(|(_, one)| !one.is_gone());
            listening.all.clone()
        });
        let anybody = !all.is_empty();
        for (_, listener) in all {
            let told = tokio::time::timeout(PATIENCE, listener.tell(changed)).await;
            if told.is_err() {
                tracing::debug!("a listener took no notification");
            }
        }
        anybody
    }

    fn with<T>(&self, then: impl FnOnce(&mut Listening) -> T) -> T {
        then(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Listening {
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

    /// Whoever has gone, or did not want to hear it, is not told: that is no error.
    async fn tell(&self, changed: Changed) {
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
