//! This gateway's connection with the others: what is to be published, and who else is there.
//!
//! Part of the server's state, so it must not know it. What requests cause is put into a bounded
//! queue that drops and counts; tasks of their own (`join`) publish it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use prowess_bus::payload::{self, PayloadError};
use prowess_bus::{Bus, BusStatistics};
use serde::Serialize;
use tokio::sync::{Notify, mpsc};

use super::gateway_beat::GatewayBeat;
use super::gateway_table::{GatewayTable, SeenGateway};
use super::membership::ClusterMembership;
use super::subjects::Subjects;
use super::view::ClusterWorker;

/// Messages that wait to be published; further ones are dropped and counted.
const MAX_QUEUED: usize = 1_024;
/// How long publishing one may take.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(1);

/// This gateway among the others. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct ClusterLink(Arc<LinkState>);

#[derive(Debug)]
struct LinkState {
    membership: ClusterMembership,
    subjects: Subjects,
    /// A random text of this start of the process.
    boot: String,
    gateways: GatewayTable,
    queue: mpsc::Sender<QueuedMessage>,
    /// Until the task that publishes takes it.
    queued: Mutex<Option<mpsc::Receiver<QueuedMessage>>>,
    /// Notified when there may be runs for others to claim.
    runs: Notify,
    /// Notified when this gateway is not what it announced.
    changed: Notify,
    /// Messages that could not be published.
    lost: AtomicU64,
    has_unreadable: AtomicBool,
}

/// A message that waits to be published.
#[derive(Debug)]
pub(super) struct QueuedMessage {
    pub(super) subject: String,
    pub(super) payload: Bytes,
}

impl ClusterLink {
    pub(crate) fn new(membership: ClusterMembership) -> ClusterLink {
        let (queue, queued) = mpsc::channel(MAX_QUEUED);
        ClusterLink(Arc::new(LinkState {
            subjects: Subjects::new(&membership.namespace),
            boot: format!("{:016x}", fastrand::u64(..)),
            membership,
            gateways: GatewayTable::default(),
            queue,
            queued: Mutex::new(Some(queued)),
            runs: Notify::new(),
            changed: Notify::new(),
            lost: AtomicU64::new(0),
            has_unreadable: AtomicBool::new(false),
        }))
    }

    /// The name of this gateway.
    pub(crate) fn gateway(&self) -> &str {
        &self.0.membership.gateway
    }

    /// Names this process among all that ever had the name of this gateway.
    pub(crate) fn boot(&self) -> &str {
        &self.0.boot
    }

    pub(super) fn bus(&self) -> &Bus {
        &self.0.membership.bus
    }

    pub(super) fn subjects(&self) -> &Subjects {
        &self.0.subjects
    }

    /// Whether messages can be published now.
    pub(crate) fn is_connected(&self) -> bool {
        self.bus().is_connected()
    }

    /// What the bus has counted; messages that could not be published are among the dropped.
    pub(crate) fn statistics(&self) -> BusStatistics {
        let mut statistics = self.bus().statistics();
        statistics.dropped += self.0.lost.load(Ordering::Relaxed);
        statistics
    }

    /// The workers that were seen lately; none if code runs elsewhere.
    pub(crate) fn workers(&self) -> Option<Vec<ClusterWorker>> {
        let mut workers = self.0.membership.view.as_ref()?.workers();
        workers.sort_by(|a, b| a.id.cmp(&b.id));
        Some(workers)
    }

    /// The gateways that were seen lately, but for this one.
    pub(crate) fn other_gateways(&self) -> Vec<SeenGateway> {
        let mut all = self.0.gateways.seen();
        all.retain(|seen| seen.beat.boot != self.0.boot);
        all
    }

    /// Whether another gateway can take over what this one has.
    pub(crate) fn has_successor(&self) -> bool {
        let others = self.other_gateways();
        self.is_connected()
            && others
                .iter()
                .any(|other| other.is_alive && !other.beat.draining)
    }

    pub(super) fn note_gateway(&self, beat: GatewayBeat) {
        self.0.gateways.note(beat);
    }

    /// Makes the others look for runs to claim. Several calls may become one message.
    pub(crate) fn announce_runs(&self) {
        self.0.runs.notify_one();
    }

    /// Waits until the others are to look for runs.
    pub(super) async fn runs_announced(&self) {
        self.0.runs.notified().await;
    }

    /// Announces this gateway at once, because it has changed.
    pub(crate) fn announce_change(&self) {
        self.0.changed.notify_one();
    }

    /// Waits until this gateway has changed.
    pub(super) async fn change_announced(&self) {
        self.0.changed.notified().await;
    }

    /// What waits to be published, for the one task that publishes it.
    pub(super) fn take_queue(&self) -> Option<mpsc::Receiver<QueuedMessage>> {
        let mut queued = self.0.queued.lock().unwrap_or_else(PoisonError::into_inner);
        queued.take()
    }

    /// Queues a message. It is dropped and counted if too many wait.
    pub(super) fn queue<T: Serialize>(&self, subject: String, content: &T) {
        let Ok(payload) = payload::encode(content) else {
            return self.note_lost();
        };
        let message = QueuedMessage { subject, payload };
        if self.0.queue.try_send(message).is_err() {
            self.note_lost();
        }
    }

    /// Publishes a message, from a task of its own. One that cannot be published is lost.
    pub(super) async fn publish<T: Serialize>(&self, subject: &str, content: &T) {
        match payload::encode(content) {
            Ok(payload) => self.publish_bytes(subject, payload).await,
            Err(_) => self.note_lost(),
        }
    }

    pub(super) async fn publish_bytes(&self, subject: &str, payload: Bytes) {
        let published = self.bus().publish(subject, payload);
        match tokio::time::timeout(PUBLISH_TIMEOUT, published).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(%error, subject, "a message to other gateways is lost");
                self.note_lost();
            }
            Err(_) => self.note_lost(),
        }
    }

    fn note_lost(&self) {
        self.0.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Logs the first message that cannot be read: gateways of other versions send more of them.
    pub(super) fn note_unreadable(&self, subject: &str, error: &PayloadError) {
        if !self.0.has_unreadable.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %error,
                subject,
                "a message of another gateway cannot be read and is ignored, as all further ones; \
                 run the same release on all gateways"
            );
        }
    }
}
