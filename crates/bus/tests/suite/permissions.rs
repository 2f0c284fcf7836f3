//! What a server does not permit, with the permissions that gateways and workers have.

use std::time::Duration;

use bytes::Bytes;
use prowess_bus::{Bus, BusError, NatsSettings};
use prowess_testkit::nats::Nats;

use crate::world::{eventually, next, settings, settle, soon, subscribe};

const USERS: &str = r#"
authorization {
  users: [
    { user: gateway, password: "of-the-gateways",
      permissions: { publish: "prowess.>", subscribe: "prowess.>" } }
    { user: w1, password: "of-w1",
      permissions: {
        publish: "prowess.hb.w", subscribe: "prowess.w.w1.>",
        allow_responses: { max: -1, expires: "30m" } } }
    { user: w2, password: "of-w2",
      permissions: { publish: "prowess.hb.w", subscribe: "prowess.w.w2.>" } }
  ]
}
"#;

const LONG: Duration = Duration::from_secs(20);

fn servers(nats: &Nats) -> Vec<String> {
    vec![nats.url()]
}

async fn gateway(nats: &Nats) -> Bus {
    let settings = NatsSettings::new(servers(nats), "prowess.g.g1.in", "gateway");
    let settings = settings.with_password("gateway", "of-the-gateways");
    Bus::connect(settings).await.unwrap()
}

async fn worker(nats: &Nats) -> Bus {
    let settings = NatsSettings::new(servers(nats), "prowess.w.w1.in", "worker");
    Bus::connect(settings.with_password("w1", "of-w1"))
        .await
        .unwrap()
}

fn start() -> Nats {
    Nats::start_with_config(USERS)
}

#[tokio::test]
async fn a_worker_receives_answers_and_asks_within_its_permissions() {
    let nats = start();
    let (gateway, worker) = (gateway(&nats).await, worker(&nats).await);
    let mut beats = subscribe(&gateway, "prowess.hb.w").await;
    let mut requests = worker.subscribe("prowess.w.w1.do").await.unwrap();
    // Once its beat is there, so is the subscription before it.
    worker.publish("prowess.hb.w", "beat".into()).await.unwrap();
    assert_eq!(next(&mut beats).await.payload, "beat");

    let inbox = gateway.new_inbox();
    let mut replies = subscribe(&gateway, &inbox).await;
    let sent = gateway.publish_with_reply("prowess.w.w1.do", &inbox, "do".into());
    sent.await.unwrap();
    let reply_to = next(&mut requests).await.reply.unwrap();
    for number in 0..100 {
        let payload = number.to_string().into();
        worker.publish(&reply_to, payload).await.unwrap();
        assert_eq!(next(&mut replies).await.payload, number.to_string());
    }
    let large = Bytes::from(vec![7; 2 << 20]);
    worker.publish(&reply_to, large.clone()).await.unwrap();
    assert!(next(&mut replies).await.payload == large);

    // The worker asks something itself, on the subject that it was given.
    let asking = worker.clone();
    let asking = tokio::spawn(async move { asking.request(&reply_to, "ask".into(), LONG).await });
    let ask = next(&mut replies).await;
    let answer_to = ask.reply.unwrap();
    assert!(answer_to.starts_with("prowess.w.w1.in."), "{answer_to}");
    gateway.publish(&answer_to, "answer".into()).await.unwrap();
    assert_eq!(soon(asking).await.unwrap().unwrap().payload, "answer");
}

#[tokio::test]
async fn what_is_not_permitted_is_refused() {
    let nats = start();
    let (gateway, worker) = (gateway(&nats).await, worker(&nats).await);
    let _other_worker = subscribe(&gateway, "prowess.w.w2.do").await;
    for pattern in ["prowess.w.w2.>", "prowess.>", ">", "prowess.g.*.in.*"] {
        let mut subscription = worker.subscribe(pattern).await.unwrap();
        assert_eq!(soon(subscription.next()).await, None, "{pattern}");
        let refusal = subscription.refusal().unwrap();
        assert!(matches!(refusal, BusError::Refused { .. }), "{refusal}");
        assert!(refusal.to_string().contains(pattern), "{refusal}");
    }
    // Told by the server, and remembered for a moment.
    let refused = worker.request("prowess.w.w2.do", Bytes::new(), LONG).await;
    assert!(
        matches!(refused, Err(BusError::Refused { .. })),
        "{refused:?}"
    );
    let refused = worker.publish("prowess.w.w2.do", Bytes::new()).await;
    assert!(
        matches!(refused, Err(BusError::Refused { .. })),
        "{refused:?}"
    );
    // An inbox that nobody gave to it.
    let inbox = gateway.new_inbox();
    let mut replies = subscribe(&gateway, &inbox).await;
    worker.publish(&inbox, "forged".into()).await.unwrap();
    let log = || nats.log();
    eventually(|| log().contains(&inbox)).await;
    gateway.publish(&inbox, "true".into()).await.unwrap();
    assert_eq!(next(&mut replies).await.payload, "true");
    // It goes on with what it may do.
    let mut beats = subscribe(&gateway, "prowess.hb.w").await;
    worker.publish("prowess.hb.w", "beat".into()).await.unwrap();
    assert_eq!(next(&mut beats).await.payload, "beat");
    settle(&gateway).await;
}

#[tokio::test]
async fn a_user_that_is_not_known_is_refused_at_once() {
    let nats = start();
    let wrong = settings(&nats, "one").with_password("w1", "of-somebody-else");
    for settings in [settings(&nats, "one"), wrong] {
        let refused = soon(Bus::connect(settings)).await.unwrap_err();
        assert!(matches!(refused, BusError::Refused { .. }), "{refused}");
        assert!(!refused.to_string().contains("of-somebody-else"));
    }
    let nats = Nats::start_with_config("authorization { token: \"the-token\" }");
    let bus = Bus::connect(settings(&nats, "one").with_token("the-token")).await;
    assert!(bus.unwrap().is_connected());
    Bus::connect(settings(&nats, "one")).await.unwrap_err();
}
