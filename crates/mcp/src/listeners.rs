//! Who is told when the tools, prompts or resources of a session change.

use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionSink};
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
}

impl Listeners {
    /// Adds one, and returns what it is removed by.
    pub(crate) fn add(&self, listener: Listener) -> u64 {
        self.with(|listening| {
            let number = listening.next;
            listening.next += 1;
            listening.all.push((number, listener));
            number
        })
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
