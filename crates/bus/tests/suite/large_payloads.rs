//! Payloads that no single message of NATS can carry.

use std::time::Duration;

use bytes::Bytes;
use prowess_bus::{Bus, BusError, MAX_PAYLOAD_BYTES};
use prowess_testkit::nats::Nats;

use crate::world::{World, connect, next, over_both, settings, subscribe};

over_both!(
    payloads_of_every_size_arrive_whole,
    a_request_and_its_reply_may_be_large,
    a_payload_that_is_too_large_is_refused,
);

/// Bytes that differ everywhere.
fn payload(bytes: usize) -> Bytes {
    let numbers = (0..=bytes / 4).flat_map(|number| (number as u32).to_le_bytes());
    numbers.take(bytes).collect()
}

async fn payloads_of_every_size_arrive_whole(world: World) {
    let mut all = subscribe(&world.one, "large").await;
    let part = 512 << 10;
    let sizes = [0, 1, part - 1, part, part + 1, 2 * part, MAX_PAYLOAD_BYTES];
    for size in sizes {
        let sent = payload(size);
        let published = world
            .other
            .publish_with_reply("large", "reply", sent.clone());
        published.await.unwrap();
        let received = next(&mut all).await;
        assert!(received.payload == sent, "{size}");
        assert_eq!(received.reply.as_deref(), Some("reply"));
    }
    assert_eq!(world.one.statistics().dropped, 0);
}

async fn a_request_and_its_reply_may_be_large(world: World) {
    let mut requests = subscribe(&world.other, "large").await;
    let other = world.other.clone();
    tokio::spawn(async move {
        let request = requests.next().await.unwrap();
        let reply = request.reply.unwrap();
        other.publish(&reply, request.payload).await.unwrap();
    });
    let sent = payload(3 << 20);
    let patience = Duration::from_secs(20);
    let reply = world.one.request("large", sent.clone(), patience).await;
    assert!(reply.unwrap().payload == sent);
}

async fn a_payload_that_is_too_large_is_refused(world: World) {
    let bytes = MAX_PAYLOAD_BYTES + 1;
    let refused = world.one.publish("large", payload(bytes)).await;
    let max = MAX_PAYLOAD_BYTES;
    assert_eq!(refused, Err(BusError::TooLarge { bytes, max }));
}

#[tokio::test]
async fn a_server_that_takes_small_messages_only_is_used_as_far_as_it_goes() {
    let nats = Nats::start_with_config("max_payload: 65536");
    let (one, other) = (connect(&nats, "one").await, connect(&nats, "other").await);
    let mut all = subscribe(&one, "large").await;
    let sent = payload(MAX_PAYLOAD_BYTES);
    other.publish("large", sent.clone()).await.unwrap();
    assert!(next(&mut all).await.payload == sent);

    let tiny = Nats::start_with_config("max_payload: 1024");
    let bus = Bus::connect(settings(&tiny, "one")).await.unwrap();
    bus.publish("a", payload(1_024)).await.unwrap();
    let refused = bus.publish("a", payload(1_025)).await;
    let (bytes, max) = (1_025, 1_024);
    assert_eq!(refused, Err(BusError::TooLarge { bytes, max }));
}

#[tokio::test]
async fn parts_of_nobody_are_ignored() {
    let nats = Nats::start();
    let bus = connect(&nats, "one").await;
    let mut all = subscribe(&bus, "large").await;
    let foreign = async_nats::connect(nats.url()).await.unwrap();
    for header in ["", "1 2 3", "1 1 1 0 2 99999999", "1 1 1 0 2 10"] {
        let mut headers = async_nats::HeaderMap::new();
        headers.insert("Prowess-Part", header);
        let sent = foreign.publish_with_headers("large", headers, "x".into());
        sent.await.unwrap();
    }
    foreign.publish("large", "whole".into()).await.unwrap();
    assert_eq!(next(&mut all).await.payload, "whole");
    assert_eq!(bus.statistics().dropped, 3);
}
