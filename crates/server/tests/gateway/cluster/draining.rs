//! A gateway that stops: what it has goes on elsewhere at once.

use prowess_bus::Bus;
use prowess_testkit::upstream::MockResponse;

use super::wakes::{reaches, start_run};
use super::{gateways, sees, start, without_time};
use crate::bodies::MESSAGES;

#[tokio::test]
async fn a_gateway_that_stops_hands_its_runs_over_at_once_and_is_not_ready() {
    let bus = Bus::local();
    let all = gateways(&bus, 2).await;
    let (stopping, successor) = (&all[0], &all[1]);
    let stopped = start(stopping).await;
    let _served = start(successor).await;
    sees(stopping, 2).await;
    assert_eq!(stopping.get("/readyz", &[]).await.status, 200);
    stopping.upstream.respond(MockResponse::never());
    let run = start_run(stopping).await;
    stopping.upstream.next_request().await;
    stopping.upstream.respond(MockResponse::json(200, MESSAGES));
    let ended = without_time(async {
        stopped.stop.cancel();
        reaches(successor, &run, "completed").await
    });
    let ended = ended.await;
    assert_eq!(ended["id"], run);
    // Once by each: the turn was not finished.
    stopping.upstream.next_request().await;
    assert!(stopping.upstream.requests().await.is_empty());
    let ready = stopping.get("/readyz", &[]).await;
    assert_eq!(
        (ready.status.as_u16(), ready.code()),
        (503, "draining".to_owned())
    );
    stopped.done.await.unwrap().unwrap();
    let shown = successor.get("/v1/admin/cluster", &[]).await.json();
    let states = shown["gateways"].as_array().unwrap().iter();
    let states: Vec<_> = states.map(|one| &one["state"]).collect();
    assert_eq!(states, ["ready", "draining"]);
}
