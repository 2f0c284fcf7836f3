//! Two users of one bus, over either transport.

use std::time::Duration;

use bytes::Bytes;
use prowess_bus::{Bus, BusMessage, NatsSettings, Subscription};
use prowess_testkit::nats::Nats;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct World {
    pub(crate) one: Bus,
    pub(crate) other: Bus,
    pub(crate) nats: Option<Nats>,
}

impl World {
    pub(crate) async fn local() -> Self {
        let bus = Bus::local();
        World {
            one: bus.clone(),
            other: bus,
            nats: None,
        }
    }

    pub(crate) async fn nats() -> Self {
        let nats = Nats::start();
        World {
            one: connect(&nats, "one").await,
            other: connect(&nats, "other").await,
            nats: Some(nats),
        }
    }
}

/// Makes two tests of each behaviour.
macro_rules! over_both {
    ($($behaviour:ident),* $(,)?) => {
        mod local {
            $(
                #[tokio::test]
                async fn $behaviour() {
                    let world = crate::world::World::local().await;
                    crate::world::soon(super::$behaviour(world)).await;
                }
            )*
        }

        mod nats {
            $(
                #[tokio::test]
                async fn $behaviour() {
                    let world = crate::world::World::nats().await;
                    crate::world::soon(super::$behaviour(world)).await;
                }
            )*
        }
    };
}
pub(crate) use over_both;

pub(crate) fn settings(nats: &Nats, name: &str) -> NatsSettings {
    NatsSettings::new(vec![nats.url()], format!("test.{name}.in"), name)
}

pub(crate) async fn connect(nats: &Nats, name: &str) -> Bus {
    Bus::connect(settings(nats, name)).await.unwrap()
}

/// Waits until the server has done all that this bus has asked for.
pub(crate) async fn settle(bus: &Bus) {
    let inbox = bus.new_inbox();
    let mut own = bus.subscribe(&inbox).await.unwrap();
    bus.publish(&inbox, Bytes::new()).await.unwrap();
    soon(own.next()).await.unwrap();
}

/// Subscribes, and waits until the server knows.
pub(crate) async fn subscribe(bus: &Bus, pattern: &str) -> Subscription {
    let subscription = bus.subscribe(pattern).await.unwrap();
    settle(bus).await;
    subscription
}

pub(crate) async fn next(subscription: &mut Subscription) -> BusMessage {
    soon(subscription.next()).await.unwrap()
}

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("nothing within {PATIENCE:?}"))
}

/// Waits for what happens outside of this process.
pub(crate) async fn eventually(mut is_so: impl FnMut() -> bool) {
    let mut look = tokio::time::interval(Duration::from_millis(5));
    soon(async {
        while !is_so() {
            look.tick().await;
        }
    })
    .await;
}
