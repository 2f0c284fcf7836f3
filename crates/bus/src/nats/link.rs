//! The connection: publishes, subscribes, flushes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, HeaderMap, PublishError, PublishErrorKind};
use bytes::Bytes;

use super::connect::connect;
use super::events::NatsEvents;
use super::refusals::{RefusalWatch, Refusals, RefusedAction};
use super::settings::NatsSettings;
use super::subscription::NatsSubscription;
use crate::error::BusError;
use crate::parts::{HEADER, HEADER_ROOM, MIN_PART_BYTES, PartsBudget, Splitter};
use crate::statistics::{BusCounters, BusStatistics};

/// A payload of up to this size is one message, if the server permits it.
const MAX_PART_BYTES: usize = 512 << 10;
/// How long a message may wait to be sent. The client does not send while it reconnects, and a
/// message that is late is of no use to anybody.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to NATS servers.
#[derive(Debug)]
pub(crate) struct NatsLink {
    client: Client,
    counters: Arc<BusCounters>,
    refusals: Arc<Refusals>,
    splitter: Splitter,
    budget: Arc<PartsBudget>,
    drained: AtomicBool,
}

impl NatsLink {
    pub(crate) async fn connect(settings: NatsSettings) -> Result<Self, BusError> {
        let counters = Arc::new(BusCounters::default());
        let refusals = Arc::new(Refusals::default());
        let sink = NatsEvents {
            counters: Arc::clone(&counters),
            refusals: Arc::clone(&refusals),
        };
        Ok(NatsLink {
            client: connect(&settings, sink).await?,
            counters,
            refusals,
            splitter: Splitter::new(),
            budget: Arc::default(),
            drained: AtomicBool::new(false),
        })
    }

    pub(crate) async fn publish(
        &self,
        subject: &str,
        reply: Option<&str>,
        payload: Bytes,
    ) -> Result<(), BusError> {
        self.refusals.check_publish(subject)?;
        self.ensure_connected()?;
        within_time(self.send(subject, reply, payload)).await?;
        self.counters.count_published();
        Ok(())
    }

    pub(crate) async fn subscribe(&self, pattern: &str) -> Result<NatsSubscription, BusError> {
        let watch = self.refusals.watch(RefusedAction::Subscribe, pattern);
        let subscribing = async {
            let subscribed = self.client.subscribe(pattern.to_owned()).await;
            subscribed.map_err(|error| disconnected(error.to_string()))
        };
        let subscriber = within_time(subscribing).await?;
        let budget = Arc::clone(&self.budget);
        let counters = Arc::clone(&self.counters);
        Ok(NatsSubscription::new(subscriber, watch, budget, counters))
    }

    /// Watches for a refusal to publish on a subject.
    pub(crate) fn watch_publish(&self, subject: &str) -> RefusalWatch {
        self.refusals.watch(RefusedAction::Publish, subject)
    }

    pub(crate) fn is_connected(&self) -> bool {
        !self.drained.load(Ordering::Acquire) && self.client.connection_state() == State::Connected
    }

    pub(crate) fn statistics(&self) -> BusStatistics {
        let connects = self.client.statistics().connects.load(Ordering::Relaxed);
        self.counters.read(connects.saturating_sub(1))
    }

    pub(crate) async fn flush(&self) -> Result<(), BusError> {
        self.ensure_connected()?;
        within_time(async {
            let flushed = self.client.flush().await;
            flushed.map_err(|error| disconnected(error.to_string()))
        })
        .await
    }

    pub(crate) async fn drain(&self) -> Result<(), BusError> {
        if self.drained.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        within_time(async {
            let drained = self.client.drain().await;
            drained.map_err(|error| disconnected(error.to_string()))
        })
        .await
    }

    async fn send(
        &self,
        subject: &str,
        reply: Option<&str>,
        payload: Bytes,
    ) -> Result<(), BusError> {
        let max = self.client.max_payload();
        if payload.len() <= max.min(MAX_PART_BYTES) {
            return self.send_one(subject, reply, None, payload).await;
        }
        let part_bytes = max.saturating_sub(HEADER_ROOM).min(MAX_PART_BYTES);
        if part_bytes < MIN_PART_BYTES {
            let bytes = payload.len();
            return Err(BusError::TooLarge { bytes, max });
        }
        for (header, part) in self.splitter.split(&payload, part_bytes) {
            let mut headers = HeaderMap::new();
            headers.insert(HEADER, header);
            self.send_one(subject, reply, Some(headers), part).await?;
        }
        Ok(())
    }

    async fn send_one(
        &self,
        subject: &str,
        reply: Option<&str>,
        headers: Option<HeaderMap>,
        payload: Bytes,
    ) -> Result<(), BusError> {
        let (client, subject) = (&self.client, subject.to_owned());
        let reply = reply.map(str::to_owned);
        let sent = match (reply, headers) {
            (None, None) => client.publish(subject, payload).await,
            (Some(reply), None) => client.publish_with_reply(subject, reply, payload).await,
            (None, Some(headers)) => client.publish_with_headers(subject, headers, payload).await,
            (Some(reply), Some(headers)) => {
                let sending =
                    client.publish_with_reply_and_headers(subject, reply, headers, payload);
                sending.await
            }
        };
        sent.map_err(|error| publish_error(&error, client.max_payload()))
    }

    fn ensure_connected(&self) -> Result<(), BusError> {
        if self.is_connected() {
            return Ok(());
        }
        Err(disconnected("the connection to NATS is lost".to_owned()))
    }
}

async fn within_time<T>(doing: impl Future<Output = Result<T, BusError>>) -> Result<T, BusError> {
    let done = tokio::time::timeout(SEND_TIMEOUT, doing).await;
    done.unwrap_or_else(|_| {
        let why = format!("NATS accepted nothing within {SEND_TIMEOUT:?}");
        Err(disconnected(why))
    })
}

fn publish_error(error: &PublishError, max: usize) -> BusError {
    match error.kind() {
        PublishErrorKind::Send => disconnected(error.to_string()),
        // Sizes and subjects were checked, so these are not expected.
        PublishErrorKind::MaxPayloadExceeded | PublishErrorKind::InvalidSubject => {
            BusError::Invalid {
                why: format!("{error} (the server takes payloads of up to {max} bytes)"),
            }
        }
    }
}

fn disconnected(why: String) -> BusError {
    BusError::Disconnected { why }
}
