//! What arrives on a pattern of subjects.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::error::BusError;
use crate::local::LocalSubscription;
use crate::message::BusMessage;
#[cfg(feature = "nats")]
use crate::nats::NatsSubscription;

/// The messages on a pattern, as a stream. Dropping it ends the subscription.
///
/// It ends by itself when the bus was drained, or when the server refuses it: see
/// [`Subscription::refusal`]. It outlives lost connections; what is published meanwhile is lost.
/// Who does not read it in time loses messages too, and those are counted.
#[derive(Debug)]
pub struct Subscription(pub(crate) Source);

#[derive(Debug)]
pub(crate) enum Source {
    Local(LocalSubscription),
    #[cfg(feature = "nats")]
    Nats(Box<NatsSubscription>),
}

impl Subscription {
    /// Waits for the next message; `None` when there will be none.
    pub async fn next(&mut self) -> Option<BusMessage> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Why the server ended it, if it did.
    #[must_use]
    pub fn refusal(&self) -> Option<BusError> {
        match &self.0 {
            Source::Local(_) => None,
            #[cfg(feature = "nats")]
            Source::Nats(subscription) => subscription.refusal(),
        }
    }
}

impl Stream for Subscription {
    type Item = BusMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<BusMessage>> {
        match &mut self.0 {
            Source::Local(subscription) => subscription.poll_next(context),
            #[cfg(feature = "nats")]
            Source::Nats(subscription) => subscription.poll_next(context),
        }
    }
}
