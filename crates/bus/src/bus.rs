//! The bus as its users see it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::error::BusError;
use crate::local::LocalHub;
use crate::message::BusMessage;
#[cfg(feature = "nats")]
use crate::nats::{NatsLink, NatsSettings};
use crate::statistics::BusStatistics;
use crate::subscription::{Source, Subscription};
use crate::{MAX_PAYLOAD_BYTES, inbox, subject};

/// Where inboxes of a local bus are.
const LOCAL_INBOXES: &str = "_INBOX";

/// Carries messages between all that share it: clones of a local bus, or everything that is
/// connected to the same NATS servers.
#[derive(Clone, Debug)]
pub struct Bus {
    transport: Transport,
    inbox_prefix: Arc<str>,
}

#[derive(Clone, Debug)]
enum Transport {
    Local(Arc<LocalHub>),
    #[cfg(feature = "nats")]
    Nats(Arc<NatsLink>),
}

impl Bus {
    /// A bus inside this process. Its clones, and only they, share it.
    #[must_use]
    pub fn local() -> Self {
        Bus {
            transport: Transport::Local(Arc::default()),
            inbox_prefix: LOCAL_INBOXES.into(),
        }
    }

    /// Connects to NATS servers, and returns when the connection is there, or after
    /// [`NatsSettings::connect_timeout`] fails or begins without it, as the settings say. From
    /// then on a lost connection is made again by itself, however long that takes.
    #[cfg(feature = "nats")]
    pub async fn connect(settings: NatsSettings) -> Result<Self, BusError> {
        subject::check(&settings.inbox_prefix)?;
        let inbox_prefix = settings.inbox_prefix.as_str().into();
        let link = Box::pin(NatsLink::connect(settings)).await?;
        Ok(Bus {
            transport: Transport::Nats(Arc::new(link)),
            inbox_prefix,
        })
    }

    /// Publishes a message to all that subscribe to its subject. Success does not mean that
    /// anybody got it. While there is no connection it fails at once.
    pub async fn publish(&self, subject: &str, payload: Bytes) -> Result<(), BusError> {
        self.send(subject, None, payload).await
    }

    /// Publishes a message whose receivers reply to the subject `reply`. If there are none, a
    /// message with [`no_responders`](BusMessage::no_responders) is published there.
    pub async fn publish_with_reply(
        &self,
        subject: &str,
        reply: &str,
        payload: Bytes,
    ) -> Result<(), BusError> {
        subject::check(reply)?;
        self.send(subject, Some(reply), payload).await
    }

    /// Subscribes to a subject, or to a pattern: `*` is one token, a last `>` the rest.
    pub async fn subscribe(&self, pattern: &str) -> Result<Subscription, BusError> {
        subject::check_pattern(pattern)?;
        match &self.transport {
            Transport::Local(hub) => hub.subscribe(pattern).map(Source::Local).map(Subscription),
            #[cfg(feature = "nats")]
            Transport::Nats(link) => {
                let subscription = link.subscribe(pattern).await?;
                Ok(Subscription(Source::Nats(Box::new(subscription))))
            }
        }
    }

    /// Publishes a message and waits for the first reply.
    pub async fn request(
        &self,
        subject: &str,
        payload: Bytes,
        timeout: Duration,
    ) -> Result<BusMessage, BusError> {
        let reply = tokio::time::timeout(timeout, self.exchange(subject, payload)).await;
        reply.unwrap_or_else(|_| {
            Err(BusError::Timeout {
                subject: subject.to_owned(),
                after: timeout,
            })
        })
    }

    /// A new subject for replies, below the prefix of this bus. Nobody can guess it.
    #[must_use]
    pub fn new_inbox(&self) -> String {
        inbox::new(&self.inbox_prefix)
    }

    /// Whether messages can be published now.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        match &self.transport {
            Transport::Local(hub) => hub.is_open(),
            #[cfg(feature = "nats")]
            Transport::Nats(link) => link.is_connected(),
        }
    }

    /// What has been counted so far.
    #[must_use]
    pub fn statistics(&self) -> BusStatistics {
        match &self.transport {
            Transport::Local(hub) => hub.statistics(),
            #[cfg(feature = "nats")]
            Transport::Nats(link) => link.statistics(),
        }
    }

    /// Waits until everything published so far has been sent.
    pub async fn flush(&self) -> Result<(), BusError> {
        match &self.transport {
            Transport::Local(_) => Ok(()),
            #[cfg(feature = "nats")]
            Transport::Nats(link) => link.flush().await,
        }
    }

    /// Sends what was published, ends all subscriptions and closes the connection. What has
    /// arrived can still be read.
    pub async fn drain(&self) -> Result<(), BusError> {
        match &self.transport {
            Transport::Local(hub) => {
                hub.drain();
                Ok(())
            }
            #[cfg(feature = "nats")]
            Transport::Nats(link) => link.drain().await,
        }
    }

    async fn send(
        &self,
        subject: &str,
        reply: Option<&str>,
        payload: Bytes,
    ) -> Result<(), BusError> {
        subject::check(subject)?;
        if payload.len() > MAX_PAYLOAD_BYTES {
            return Err(BusError::TooLarge {
                bytes: payload.len(),
                max: MAX_PAYLOAD_BYTES,
            });
        }
        match &self.transport {
            Transport::Local(hub) => hub.publish(subject, reply, payload),
            #[cfg(feature = "nats")]
            Transport::Nats(link) => link.publish(subject, reply, payload).await,
        }
    }

    async fn exchange(&self, subject: &str, payload: Bytes) -> Result<BusMessage, BusError> {
        let inbox = self.new_inbox();
        let mut replies = self.subscribe(&inbox).await?;
        #[cfg(feature = "nats")]
        if let Transport::Nats(link) = &self.transport {
            let refused = link.watch_publish(subject);
            self.publish_with_reply(subject, &inbox, payload).await?;
            return tokio::select! {
                reply = replies.next() => first_reply(subject, reply, &replies),
                error = refused.wait() => Err(error),
            };
        }
        self.publish_with_reply(subject, &inbox, payload).await?;
        let reply = replies.next().await;
        first_reply(subject, reply, &replies)
    }
}

fn first_reply(
    subject: &str,
    reply: Option<BusMessage>,
    replies: &Subscription,
) -> Result<BusMessage, BusError> {
    match reply {
        Some(reply) if reply.no_responders => Err(BusError::NoResponders {
            subject: subject.to_owned(),
        }),
        Some(reply) => Ok(reply),
        None => Err(replies.refusal().unwrap_or(BusError::Disconnected {
            why: "the bus was drained while a reply was waited for".to_owned(),
        })),
    }
}
