//! The bus inside one process: a table of subscriptions, each with a bounded channel.

mod table;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::SUBSCRIPTION_CAPACITY;
use crate::error::BusError;
use crate::message::BusMessage;
use crate::statistics::{BusCounters, BusStatistics};
use table::Table;

/// What all clones of a local bus share.
#[derive(Debug, Default)]
pub(crate) struct LocalHub {
    table: Mutex<Table>,
    counters: BusCounters,
    drained: AtomicBool,
}

/// A subscription of a local bus.
#[derive(Debug)]
pub(crate) struct LocalSubscription {
    hub: Arc<LocalHub>,
    pattern: String,
    number: u64,
    receiver: mpsc::Receiver<BusMessage>,
}

impl LocalHub {
    /// Delivers a message to all that subscribe to its subject now.
    pub(crate) fn publish(
        &self,
        subject: &str,
        reply: Option<&str>,
        payload: Bytes,
    ) -> Result<(), BusError> {
        self.ensure_open()?;
        self.counters.count_published();
        let message = BusMessage {
            subject: subject.to_owned(),
            reply: reply.map(str::to_owned),
            payload,
            no_responders: false,
        };
        let table = self.lock();
        let listeners = self.deliver(&table, &message);
        if let (0, Some(reply)) = (listeners, reply) {
            let nobody = BusMessage {
                subject: reply.to_owned(),
                reply: None,
                payload: Bytes::new(),
                no_responders: true,
            };
            self.deliver(&table, &nobody);
        }
        Ok(())
    }

    /// Subscribes to a pattern.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        pattern: &str,
    ) -> Result<LocalSubscription, BusError> {
        self.ensure_open()?;
        let (sender, receiver) = mpsc::channel(SUBSCRIPTION_CAPACITY);
        let number = self.lock().add(pattern, sender);
        Ok(LocalSubscription {
            hub: Arc::clone(self),
            pattern: pattern.to_owned(),
            number,
            receiver,
        })
    }

    /// Ends all subscriptions; what waits in them can still be read.
    pub(crate) fn drain(&self) {
        self.drained.store(true, Ordering::Release);
        self.lock().clear();
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.drained.load(Ordering::Acquire)
    }

    pub(crate) fn statistics(&self) -> BusStatistics {
        self.counters.read(0)
    }

    /// Returns the number of subscriptions that match.
    fn deliver(&self, table: &Table, message: &BusMessage) -> usize {
        let mut listeners = 0;
        for sender in table.matching(&message.subject) {
            listeners += 1;
            if sender.try_send(message.clone()).is_err() {
                self.counters.count_dropped();
            }
        }
        listeners
    }

    fn ensure_open(&self) -> Result<(), BusError> {
        if self.is_open() {
            return Ok(());
        }
        let why = "it was drained".to_owned();
        Err(BusError::Disconnected { why })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LocalSubscription {
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<BusMessage>> {
        let polled = self.receiver.poll_recv(context);
        if let Poll::Ready(Some(_)) = &polled {
            self.hub.counters.count_received();
        }
        polled
    }
}

impl Drop for LocalSubscription {
    fn drop(&mut self) {
        self.hub.lock().remove(&self.pattern, self.number);
    }
}
