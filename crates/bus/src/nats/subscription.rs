//! What arrives from NATS on a pattern, with payloads put together again.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_nats::{Message, StatusCode, Subscriber};
use futures_core::Stream as _;
use tokio::time::{Instant, Sleep};

use super::refusals::RefusalWatch;
use crate::error::BusError;
use crate::message::BusMessage;
use crate::parts::{Assembler, HEADER, PartsBudget};
use crate::statistics::BusCounters;

/// A subscription at NATS servers.
#[derive(Debug)]
pub(crate) struct NatsSubscription {
    subscriber: Subscriber,
    watch: RefusalWatch,
    assembler: Assembler,
    /// When the oldest incomplete payload is dropped.
    expiry: Option<Pin<Box<Sleep>>>,
    counters: Arc<BusCounters>,
}

impl NatsSubscription {
    pub(super) fn new(
        subscriber: Subscriber,
        watch: RefusalWatch,
        budget: Arc<PartsBudget>,
        counters: Arc<BusCounters>,
    ) -> Self {
        NatsSubscription {
            subscriber,
            watch,
            assembler: Assembler::new(budget, Arc::clone(&counters)),
            expiry: None,
            counters,
        }
    }

    /// Why the server ended it, if it did.
    pub(crate) fn refusal(&self) -> Option<BusError> {
        self.watch.refusal()
    }

    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<BusMessage>> {
        if self.watch.poll_refused(context) {
            return Poll::Ready(None);
        }
        loop {
            let Poll::Ready(next) = Pin::new(&mut self.subscriber).poll_next(context) else {
                self.poll_expiry(context);
                return Poll::Pending;
            };
            let Some(message) = next else {
                return Poll::Ready(None);
            };
            if let Some(complete) = self.take(message) {
                self.counters.count_received();
                return Poll::Ready(Some(complete));
            }
        }
    }

    /// The message, if it is whole or the last missing part of one.
    fn take(&mut self, message: Message) -> Option<BusMessage> {
        let headers = message.headers.as_ref();
        let header = headers.and_then(|headers| headers.get(HEADER));
        let header = header.map(|header| header.as_str().to_owned());
        let no_responders = message.status == Some(StatusCode::NO_RESPONDERS);
        let message = BusMessage {
            subject: message.subject.into_string(),
            reply: message.reply.map(|reply| reply.into_string()),
            payload: message.payload,
            no_responders,
        };
        match header {
            Some(header) => self.assembler.add(&header, message, Instant::now()),
            None => Some(message),
        }
    }

    /// Drops what stays incomplete, also while nothing arrives.
    fn poll_expiry(&mut self, context: &mut Context<'_>) {
        while let Some(at) = self.assembler.next_expiry() {
            let sleep = || Box::pin(tokio::time::sleep_until(at));
            let expiry = self.expiry.get_or_insert_with(sleep);
            if expiry.deadline() != at {
                expiry.as_mut().reset(at);
            }
            if expiry.as_mut().poll(context).is_pending() {
                return;
            }
            self.assembler.expire(Instant::now());
        }
        self.expiry = None;
    }
}
