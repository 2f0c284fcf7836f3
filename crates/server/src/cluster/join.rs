//! The tasks of a gateway in its cluster: one receives what others publish, one publishes.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::StreamExt;
use futures_util::stream::{SelectAll, select_all};
use prowess_bus::{BusError, Subscription};
use prowess_store::CacheDrop;
use tokio::sync::{broadcast, mpsc};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::cache_drops;
use super::gateway_beat::GatewayBeat;
use super::link::{ClusterLink, QueuedMessage};
use super::rates_message::RatesMessage;
use super::receive::receive;
use crate::app::App;
use crate::limits::shared::MAX_KEYS_PER_REPORT;

/// How often a gateway announces itself and what its keys have used.
const BEAT_INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait after subscribing failed.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// How long the last messages may take.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(2);

/// A gateway that takes part in its cluster, until this is dropped.
pub struct JoinedCluster {
    stop: CancellationToken,
    tasks: AbortOnDropHandle<()>,
}

impl App {
    /// Takes part in the cluster of the settings, if there is one, once: what the others publish
    /// from now on is received. [`serve`](fn@crate::serve) does this itself.
    pub async fn join_cluster(&self) -> Option<JoinedCluster> {
        let link = self.cluster()?.clone();
        let queued = link.take_queue()?;
        let messages = subscribe(&link).await;
        if let Err(error) = &messages {
            tracing::warn!(%error, "other gateways cannot be listened to yet; trying again");
        }
        let stop = CancellationToken::new();
        let publisher = Publisher {
            app: self.clone(),
            link: link.clone(),
            queued,
            // From now on: what the task has not begun with yet is not missed.
            drops: self.store().cache_drops(),
            stop: stop.clone(),
        };
        let publishing = publisher.run();
        let receiving = receive_all(self.clone(), link, messages.ok());
        let tasks = tokio::spawn(async move {
            tokio::select! {
                () = publishing => {}
                () = receiving => {}
            }
        });
        Some(JoinedCluster {
            stop,
            tasks: AbortOnDropHandle::new(tasks),
        })
    }
}

impl JoinedCluster {
    /// Publishes what waits, and ends.
    pub async fn leave(self) {
        self.stop.cancel();
        if tokio::time::timeout(LEAVE_TIMEOUT, self.tasks)
            .await
            .is_err()
        {
            tracing::warn!("the last messages to other gateways were not sent in time");
        }
    }
}

type Messages = SelectAll<Subscription>;

async fn subscribe(link: &ClusterLink) -> Result<Messages, BusError> {
    let mut subscriptions = Vec::new();
    for pattern in link.subjects().patterns() {
        subscriptions.push(link.bus().subscribe(&pattern).await?);
    }
    Ok(select_all(subscriptions))
}

/// Receives for ever.
async fn receive_all(app: App, link: ClusterLink, mut first: Option<Messages>) {
    loop {
        let subscribed = match first.take() {
            Some(messages) => Ok(messages),
            None => subscribe(&link).await,
        };
        match subscribed {
            Ok(mut messages) => {
                // Whatever was changed before is not announced any more.
                catch_up(&app);
                while let Some(message) = messages.next().await {
                    receive(&app, &link, &message);
                }
                tracing::warn!("the bus has ended the messages of other gateways");
            }
            Err(error) => {
                tracing::debug!(%error, "other gateways cannot be listened to");
            }
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// Looks at everything about which a message may have been lost.
fn catch_up(app: &App) {
    cache_drops::forget_all(app.store());
    app.local_runs().wake();
}

/// Publishes what this gateway has for others.
struct Publisher {
    app: App,
    link: ClusterLink,
    queued: mpsc::Receiver<QueuedMessage>,
    drops: broadcast::Receiver<CacheDrop>,
    stop: CancellationToken,
}

impl Publisher {
    /// Publishes until it is stopped, and then what waits.
    async fn run(mut self) {
        let (app, link) = (&self.app, &self.link);
        let mut ticks = tokio::time::interval(BEAT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reconnects = link.statistics().reconnects;
        loop {
            tokio::select! {
                () = self.stop.cancelled() => break,
                _ = ticks.tick() => {
                    publish_beat(app, link).await;
                    publish_rates(app, link).await;
                    let now = link.statistics().reconnects;
                    if std::mem::replace(&mut reconnects, now) != now {
                        catch_up(app);
                    }
                }
                () = link.change_announced() => publish_beat(app, link).await,
                () = link.runs_announced() => publish_runs(link).await,
                Some(message) = self.queued.recv() => {
                    link.publish_bytes(&message.subject, message.payload).await;
                }
                dropped = cache_drops::next(&mut self.drops) => {
                    link.publish_cache_drop(&dropped).await;
                }
            }
        }
        while let Ok(message) = self.queued.try_recv() {
            link.publish_bytes(&message.subject, message.payload).await;
        }
        if link.runs_announced().now_or_never().is_some() {
            publish_runs(link).await;
        }
        publish_beat(app, link).await;
        if let Err(error) = link.bus().flush().await {
            tracing::debug!(%error, "the last messages may be lost");
        }
    }
}

async fn publish_runs(link: &ClusterLink) {
    let subject = link.subjects().runs();
    link.publish(&subject, &serde_json::json!({})).await;
}

async fn publish_beat(app: &App, link: &ClusterLink) {
    let subject = link.subjects().beats();
    link.publish(&subject, &own_beat(app, link)).await;
}

/// This gateway as it is now.
pub(crate) fn own_beat(app: &App, link: &ClusterLink) -> GatewayBeat {
    let (running, leases) = (app.local_runs().running(), app.local_runs().leases());
    GatewayBeat {
        id: link.gateway().to_owned(),
        boot: link.boot().to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        running,
        leases,
        draining: app.is_draining(),
    }
}

async fn publish_rates(app: &App, link: &ClusterLink) {
    let subject = link.subjects().rates(link.gateway());
    let mut reports = app.limits().report();
    while !reports.is_empty() {
        let rest = reports.split_off(reports.len().min(MAX_KEYS_PER_REPORT));
        let message = RatesMessage {
            boot: link.boot().to_owned(),
            keys: std::mem::replace(&mut reports, rest),
        };
        link.publish(&subject, &message).await;
    }
}
