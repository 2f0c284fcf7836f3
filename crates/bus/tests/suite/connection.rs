//! A connection that cannot be made, is lost, and comes back.

use std::time::Duration;

use bytes::Bytes;
use prowess_bus::{Bus, BusError};
use prowess_testkit::nats::Nats;

use crate::world::{World, eventually, next, settings, settle, soon, subscribe};

#[tokio::test]
async fn subscriptions_outlive_the_server() {
    let mut world = World::nats().await;
    let mut all = subscribe(&world.one, "a").await;
    let nats = world.nats.as_mut().unwrap();
    nats.kill();
    eventually(|| !world.one.is_connected() && !world.other.is_connected()).await;
    // It fails at once, and does not come out later.
    let refused = world.other.publish("a", "lost".into()).await.unwrap_err();
    assert!(
        matches!(refused, BusError::Disconnected { .. }),
        "{refused}"
    );
    let refused = world
        .other
        .request("a", Bytes::new(), Duration::from_secs(9));
    let refused = refused.await.unwrap_err();
    assert!(
        matches!(refused, BusError::Disconnected { .. }),
        "{refused}"
    );
    nats.restart();
    eventually(|| world.one.is_connected() && world.other.is_connected()).await;
    settle(&world.one).await;
    world.other.publish("a", "found".into()).await.unwrap();
    assert_eq!(next(&mut all).await.payload, "found");
    assert_eq!(world.one.statistics().reconnects, 1);
    assert_eq!(world.other.statistics().reconnects, 1);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_after_a_time() {
    let nats = Nats::start();
    let mut settings = settings(&nats, "one").with_password("someone", "a-secret");
    nats.kill();
    settings.connect_timeout = Duration::from_millis(100);
    let refused = soon(Bus::connect(settings)).await.unwrap_err();
    let message = refused.to_string();
    assert!(
        matches!(refused, BusError::Disconnected { .. }),
        "{message}"
    );
    assert!(message.contains(&format!("cannot connect to NATS at {}", nats.url())));
    assert!(!message.contains("a-secret"), "{message}");
}

#[tokio::test]
async fn a_server_that_starts_later_is_waited_for() {
    let mut nats = Nats::start();
    nats.kill();
    let connecting = Bus::connect(settings(&nats, "one"));
    // On another thread, so that the first attempts meet no server.
    let restarting = tokio::task::spawn_blocking(move || {
        nats.restart();
        nats
    });
    let (bus, nats) = soon(async { tokio::join!(connecting, restarting) }).await;
    assert!(bus.unwrap().is_connected());
    drop(nats.unwrap());
}

#[tokio::test]
async fn settings_that_cannot_be_are_refused() {
    let nats = Nats::start();
    let mut without_server = settings(&nats, "one");
    without_server.servers.clear();
    let mut other_scheme = settings(&nats, "one");
    other_scheme.servers = vec!["http://127.0.0.1:4222".to_owned()];
    let mut bad_inbox = settings(&nats, "one");
    bad_inbox.inbox_prefix = "a.>".to_owned();
    for invalid in [without_server, other_scheme, bad_inbox] {
        let refused = Bus::connect(invalid).await.unwrap_err();
        assert!(matches!(refused, BusError::Invalid { .. }), "{refused}");
    }
}

#[tokio::test]
async fn who_may_begin_without_a_server_is_connected_later() {
    let mut nats = Nats::start();
    nats.kill();
    let mut settings = settings(&nats, "one");
    settings.connect_timeout = Duration::from_millis(50);
    settings.start_disconnected = true;
    let bus = soon(Bus::connect(settings)).await.unwrap();
    assert!(!bus.is_connected());
    let mut all = bus.subscribe("a").await.unwrap();
    let refused = bus.publish("a", Bytes::new()).await.unwrap_err();
    assert!(
        matches!(refused, BusError::Disconnected { .. }),
        "{refused}"
    );
    nats.restart();
    eventually(|| bus.is_connected()).await;
    bus.publish("a", "found".into()).await.unwrap();
    assert_eq!(next(&mut all).await.payload, "found");
    assert_eq!(bus.statistics().reconnects, 0);
}
