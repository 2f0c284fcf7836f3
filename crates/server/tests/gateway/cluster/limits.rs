//! The rate of a key over three gateways, with the error that `server/limits/shared.rs` states.

use std::time::Duration;

use prowess_bus::Bus;
use prowess_store::{KeyLimits, KeyScope};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;

use super::{gateways, join, without_time};
use crate::bodies::{MESSAGES, question};
use crate::gateway::Gateway;

const LIMIT: usize = 10;
const GATEWAYS: usize = 3;

/// Sends so many requests; returns how many were admitted.
async fn ask(gateway: &Gateway, key: &str, requests: usize) -> usize {
    let body = question(ClientDialect::Messages, "ant/m1", false).to_string();
    let mut admitted = 0;
    for _ in 0..requests {
        let headers = [("x-api-key", key)];
        let answer = gateway.send("/v1/messages", &headers, body.clone()).await;
        match answer.status.as_u16() {
            200 => admitted += 1,
            429 => {}
            other => panic!("{other}: {}", answer.text()),
        }
    }
    admitted
}

/// Lets so many seconds pass, one by one, with the messages of each.
async fn pass(seconds: u64) {
    for _ in 0..seconds {
        // A little more, as timers are rounded up to a millisecond.
        tokio::time::advance(Duration::from_millis(1_005)).await;
        // Messages inside a process need no time, only the turn of their tasks.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_rate_holds_over_all_gateways_but_for_the_worst_second() {
    let bus = Bus::local();
    let all = gateways(&bus, GATEWAYS).await;
    let upstream = &all[0].upstream;
    upstream.respond_always(MockResponse::json(200, MESSAGES));
    let limits = KeyLimits {
        requests_per_minute: Some(LIMIT as u32),
        ..KeyLimits::default()
    };
    let key = all[0].key("default", KeyScope::Use, &limits).await;
    let mut joined = Vec::new();
    for gateway in &all {
        joined.push(join(gateway).await);
    }
    without_time(async {
        pass(1).await;
        // Nobody knows of the others' requests in the same second.
        let mut admitted = 0;
        for gateway in &all {
            admitted += ask(gateway, &key, LIMIT + 2).await;
        }
        assert_eq!(admitted, GATEWAYS * LIMIT);
        // Two minutes' worth was admitted too much, and is made up for.
        for minute in 0..2 {
            pass(60).await;
            for gateway in &all {
                assert_eq!(ask(gateway, &key, 1).await, 0, "minute {minute}");
            }
        }
        // A minute later there is one minute's worth for all together, whoever is asked first.
        pass(61).await;
        assert_eq!(ask(&all[1], &key, LIMIT / 2).await, LIMIT / 2);
        pass(1).await;
        assert_eq!(ask(&all[2], &key, LIMIT).await, LIMIT / 2);
        pass(1).await;
        assert_eq!(ask(&all[0], &key, 1).await, 0);
    })
    .await;
}
