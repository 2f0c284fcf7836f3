//! Requests and their replies.

use std::time::Duration;

use bytes::Bytes;
use prowess_bus::{Bus, BusError};

use crate::world::{World, over_both, subscribe};

over_both!(
    the_first_reply_answers_a_request,
    a_request_that_nobody_receives_fails_at_once,
    a_request_without_a_reply_ends_after_its_time,
    replies_go_to_who_sent_the_request,
);

const LONG: Duration = Duration::from_secs(20);

/// Replies to each request with its payload and a mark.
async fn echo(bus: &Bus, subject: &str) {
    let mut requests = subscribe(bus, subject).await;
    let bus = bus.clone();
    tokio::spawn(async move {
        while let Some(request) = requests.next().await {
            let reply = request.reply.unwrap();
            for mark in ["!", "?"] {
                let payload = [request.payload.as_ref(), mark.as_bytes()].concat();
                bus.publish(&reply, payload.into()).await.unwrap();
            }
        }
    });
}

async fn the_first_reply_answers_a_request(world: World) {
    echo(&world.other, "echo").await;
    let reply = world.one.request("echo", "hello".into(), LONG).await;
    let reply = reply.unwrap();
    assert_eq!(reply.payload, "hello!");
    assert!(!reply.no_responders);
}

async fn a_request_that_nobody_receives_fails_at_once(world: World) {
    let refused = world.one.request("nobody", Bytes::new(), LONG).await;
    let subject = "nobody".to_owned();
    assert_eq!(refused, Err(BusError::NoResponders { subject }));
}

async fn a_request_without_a_reply_ends_after_its_time(world: World) {
    let _silent = subscribe(&world.other, "silent").await;
    let after = Duration::from_millis(20);
    let refused = world.one.request("silent", Bytes::new(), after).await;
    let subject = "silent".to_owned();
    assert_eq!(refused, Err(BusError::Timeout { subject, after }));
}

async fn replies_go_to_who_sent_the_request(world: World) {
    echo(&world.other, "echo").await;
    let requests = (0..50).map(|number| {
        let bus = world.one.clone();
        tokio::spawn(async move {
            let reply = bus.request("echo", number.to_string().into(), LONG).await;
            assert_eq!(reply.unwrap().payload, format!("{number}!"));
        })
    });
    for request in requests.collect::<Vec<_>>() {
        request.await.unwrap();
    }
}
