//! Publishing and subscribing.

use bytes::Bytes;
use prowess_bus::{BusError, BusMessage};

use crate::world::{World, eventually, next, over_both, settle, subscribe};

over_both!(
    a_message_reaches_all_that_subscribe_to_its_subject,
    messages_of_one_sender_arrive_in_order,
    a_dropped_subscription_gets_nothing,
    who_does_not_read_loses_messages_and_they_are_counted,
    a_subject_that_is_none_is_refused,
    a_drained_bus_delivers_what_it_has_and_no_more,
);

async fn a_message_reaches_all_that_subscribe_to_its_subject(world: World) {
    let mut exact = subscribe(&world.one, "a.b.c").await;
    let mut token = subscribe(&world.one, "a.*.c").await;
    let mut rest = subscribe(&world.other, "a.>").await;
    let mut unrelated = subscribe(&world.other, "b.>").await;
    world.other.publish("a.b.c", "1".into()).await.unwrap();
    let reply = world.one.new_inbox();
    let published = world.other.publish_with_reply("a.x", &reply, "2".into());
    published.await.unwrap();
    world.other.publish("b.x", "3".into()).await.unwrap();
    let expected = BusMessage {
        subject: "a.b.c".to_owned(),
        reply: None,
        payload: Bytes::from_static(b"1"),
        no_responders: false,
    };
    assert_eq!(next(&mut exact).await, expected);
    assert_eq!(next(&mut token).await, expected);
    assert_eq!(next(&mut rest).await, expected);
    let second = next(&mut rest).await;
    assert_eq!(
        (second.subject.as_str(), second.reply),
        ("a.x", Some(reply))
    );
    assert_eq!(next(&mut unrelated).await.payload, "3");
    assert!(world.one.is_connected());
    assert!(world.other.statistics().published >= 3);
    assert!(world.one.statistics().received >= 2);
}

async fn messages_of_one_sender_arrive_in_order(world: World) {
    let mut all = subscribe(&world.one, "order.*").await;
    for number in 0..500_u32 {
        let subject = format!("order.{}", number % 3);
        let payload = number.to_string().into();
        world.other.publish(&subject, payload).await.unwrap();
    }
    for number in 0..500_u32 {
        assert_eq!(next(&mut all).await.payload, number.to_string());
    }
}

async fn a_dropped_subscription_gets_nothing(world: World) {
    let gone = subscribe(&world.one, "a").await;
    drop(gone);
    settle(&world.one).await;
    let mut inbox = subscribe(&world.other, "inbox").await;
    let published = world.other.publish_with_reply("a", "inbox", "1".into());
    published.await.unwrap();
    let answer = next(&mut inbox).await;
    assert!(answer.no_responders && answer.payload.is_empty());
}

async fn who_does_not_read_loses_messages_and_they_are_counted(world: World) {
    let mut unread = subscribe(&world.one, "flood").await;
    for _ in 0..3_000 {
        world.other.publish("flood", "1".into()).await.unwrap();
    }
    settle(&world.other).await;
    // What was published before this has arrived, or is lost.
    let mut last = subscribe(&world.one, "last").await;
    world.other.publish("last", "1".into()).await.unwrap();
    next(&mut last).await;
    eventually(|| world.one.statistics().dropped > 0).await;
    for _ in 0..1_024 {
        next(&mut unread).await;
    }
    world.other.publish("flood", "again".into()).await.unwrap();
    assert_eq!(next(&mut unread).await.payload, "again");
}

async fn a_subject_that_is_none_is_refused(world: World) {
    let bus = &world.one;
    for subject in ["", "a b", "a\r\nPUB b 0", "a..b", "a.*", ">"] {
        let refused = bus.publish(subject, Bytes::new()).await.unwrap_err();
        assert!(matches!(refused, BusError::Invalid { .. }), "{refused}");
        let refused = bus.publish_with_reply("a", subject, Bytes::new()).await;
        assert!(matches!(refused, Err(BusError::Invalid { .. })));
    }
    for pattern in ["", "a b", "a.>.b", "a.b*"] {
        let refused = bus.subscribe(pattern).await.unwrap_err();
        assert!(matches!(refused, BusError::Invalid { .. }), "{refused}");
    }
    assert_eq!(
        bus.publish("a b", Bytes::new())
            .await
            .unwrap_err()
            .to_string(),
        "`a b` is not a subject: use letters, digits, `_` and `-`, at most 255 bytes"
    );
}

async fn a_drained_bus_delivers_what_it_has_and_no_more(world: World) {
    let mut all = subscribe(&world.one, "a").await;
    world.one.publish("a", "1".into()).await.unwrap();
    world.one.flush().await.unwrap();
    settle(&world.one).await;
    world.one.drain().await.unwrap();
    assert_eq!(next(&mut all).await.payload, "1");
    assert_eq!(all.next().await, None);
    assert_eq!(all.refusal(), None);
    assert!(!world.one.is_connected());
    let refused = world.one.publish("a", Bytes::new()).await.unwrap_err();
    assert!(
        matches!(refused, BusError::Disconnected { .. }),
        "{refused}"
    );
}
