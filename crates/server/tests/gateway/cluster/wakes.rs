//! Kept runs on one gateway, queued, followed and cancelled on another.

use prowess_bus::Bus;
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use super::{gateways, join, sees, start, without_time};
use crate::bodies::{MESSAGES, question};
use crate::gateway::Gateway;

/// Kept runs of one tenant that a gateway has at once.
const MAX_RUNS_PER_TENANT: usize = 16;

/// Starts a kept run; returns its id.
pub(super) async fn start_run(gateway: &Gateway) -> String {
    let body = question(ClientDialect::Messages, "ant/m1", false).to_string();
    let headers = [("prowess-keep", "background")];
    let answer = gateway.send("/v1/messages", &headers, body).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.header("prowess-run").unwrap().to_owned()
}

/// Waits until a run is in a state, asking any gateway.
pub(super) async fn reaches(gateway: &Gateway, run: &str, state: &str) -> Value {
    loop {
        let shown = gateway.get(&format!("/v1/runs/{run}"), &[]).await.json();
        if shown["status"] == state {
            return shown;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_run_that_one_gateway_has_no_place_for_is_taken_and_followed_at_once() {
    let bus = Bus::local();
    let all = gateways(&bus, 2).await;
    let (full, free) = (&all[0], &all[1]);
    let _joined = join(full).await;
    let _served = start(free).await;
    sees(full, 2).await;
    for _ in 0..MAX_RUNS_PER_TENANT {
        full.upstream.respond(MockResponse::never());
        start_run(full).await;
        full.upstream.next_request().await;
    }
    full.upstream.respond(MockResponse::json(200, MESSAGES));
    let answer = without_time(async {
        let body = question(ClientDialect::Messages, "ant/m1", false).to_string();
        let headers = [("prowess-keep", "true")];
        full.send("/v1/messages", &headers, body).await
    });
    let answer = answer.await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["content"][0]["text"], "Looking.");
}

#[tokio::test]
async fn a_cancellation_is_announced_and_ends_the_run_elsewhere() {
    let bus = Bus::local();
    let all = gateways(&bus, 2).await;
    let (owner, other) = (&all[0], &all[1]);
    let _joined = [join(owner).await, join(other).await];
    owner.upstream.respond(MockResponse::never());
    let run = start_run(owner).await;
    owner.upstream.next_request().await;
    let mut announced = bus
        .subscribe(&format!("prowess.run.{run}.ctl"))
        .await
        .unwrap();
    let cancelled = other.post(&format!("/v1/runs/{run}/cancel"), "").await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text());
    assert_eq!(cancelled.json()["status"], "cancelled");
    assert!(announced.next().await.is_some());
    owner.upstream.client_disconnected().await;
}

#[tokio::test]
async fn the_owner_of_a_run_learns_of_its_cancellation_from_the_bus_alone() {
    let bus = Bus::local();
    let all = gateways(&bus, 1).await;
    let owner = &all[0];
    let _joined = join(owner).await;
    owner.upstream.respond(MockResponse::never());
    let run = start_run(owner).await;
    owner.upstream.next_request().await;
    let nothing = prowess_bus::payload::encode(&json!({})).unwrap();
    let subject = format!("prowess.run.{run}.ctl");
    bus.publish(&subject, nothing).await.unwrap();
    reaches(owner, &run, "cancelled").await;
}

#[tokio::test]
async fn a_run_that_waits_for_a_place_is_queued_and_cancelled_at_once() {
    let bus = Bus::local();
    let all = gateways(&bus, 1).await;
    let gateway = &all[0];
    let _served = start(gateway).await;
    gateway.upstream.respond_always(MockResponse::never());
    let mut runs = Vec::new();
    for _ in 0..MAX_RUNS_PER_TENANT + 3 {
        runs.push(start_run(gateway).await);
    }
    for _ in 0..MAX_RUNS_PER_TENANT {
        gateway.upstream.next_request().await;
    }
    // One ends, and the server looks for others: several wait, and one of them has its place.
    let cancel = async |run: &str| {
        let path = format!("/v1/runs/{run}/cancel");
        gateway.post(&path, "").await.json()["status"].clone()
    };
    assert_eq!(cancel(&runs[0]).await, "cancelled");
    gateway.upstream.next_request().await;
    let last = runs.last().unwrap();
    reaches(gateway, last, "queued").await;
    assert_eq!(cancel(last).await, "cancelled");
}
