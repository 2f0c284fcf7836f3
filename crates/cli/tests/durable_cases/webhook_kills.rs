//! A server that is killed at the webhook of a run: after a restart the webhook arrives, at least
//! once and always with the same id, and the run has ended once.

use prowess_testkit::postgres::TestPostgres;
use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};
use serde_json::Value;

use crate::durable::bed::{Bed, SHORT_LEASE};
use crate::durable::database::migrated_database;
use crate::durable::model::prompts;
use crate::durable::poll::wait_for;
use crate::durable::request::KeptDialect;
use crate::run;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The webhooks that a receiver got, as their ids and bodies.
async fn received(receiver: &MockUpstream, count: usize) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    while all.len() < count {
        let request: ReceivedRequest = receiver.next_request().await;
        let id = request.header("webhook-id").unwrap().to_owned();
        all.push((id, serde_json::from_slice(&request.body).unwrap()));
    }
    all
}

async fn killed_at(database: Option<String>, dialect: KeptDialect, point: &str, count: usize) {
    let case = format!("{dialect:?} {point} {database:?}");
    let receiver = MockUpstream::start().await;
    receiver.respond_always(MockResponse::json(200, "{}"));
    let config = format!(
        "[webhooks]\nallow_private = true\ntimeout_seconds = 1\n\
         [[webhooks.endpoints]]\nurl = '{}/'\nsecret = '{SECRET}'\n",
        receiver.url()
    );
    let variables = [SHORT_LEASE, ("PROWESS_FAIL_POINT", point)];
    let mut bed = Bed::start_with(database, &variables, &config).await;
    Bed::send_in_background(bed.kept_request(dialect, prompts::WRITE));
    bed.wait_for_death().await;
    let before = bed.only_run().await;
    let calls = bed.model.calls(prompts::WRITE);
    bed.restart(&[]);
    let webhooks = received(&receiver, count).await;
    let after = bed.ended_run().await;
    assert_eq!(after.state, "completed", "{case}: {after:?}");
    if point != "before-end" {
        // The run had ended, and is not ended again.
        assert_eq!(before.state, "completed", "{case}: {before:?}");
        assert_eq!(after.result, before.result, "{case}");
    }
    assert_eq!(bed.model.calls(prompts::WRITE), calls, "{case}");
    let (id, body) = &webhooks[0];
    assert!(id.starts_with("whd_"), "{case}: {id}");
    for webhook in &webhooks {
        assert_eq!(webhook, &webhooks[0], "{case}");
    }
    let (object, named) = match dialect {
        KeptDialect::Responses | KeptDialect::Polled => {
            ("response", after.id.replace("run_", "resp_"))
        }
        KeptDialect::Messages | KeptDialect::Chat | KeptDialect::Gemini => {
            ("run", after.id.clone())
        }
    };
    assert_eq!(body["type"], format!("{object}.completed"), "{case}");
    assert_eq!(body["data"]["id"], named, "{case}");
    // Nothing waits any more, and nothing else was sent.
    wait_for("no webhook waits", async || {
        let waiting = bed.number("SELECT COUNT(*) FROM webhook_deliveries").await;
        (waiting == 0).then_some(())
    })
    .await;
    assert!(receiver.requests().await.is_empty(), "{case}");
}

async fn killed_everywhere(database: impl Fn() -> Option<String>) {
    let points = [
        ("before-end", 1),
        ("ended", 1),
        ("webhook-taken", 1),
        ("webhook-sent", 2),
    ];
    let all = points.into_iter().flat_map(|(point, count)| {
        let dialects = KeptDialect::ALL.into_iter();
        let database = &database;
        dialects.map(move |dialect| killed_at(database(), dialect, point, count))
    });
    let mut all: Vec<_> = all.collect();
    // Some at a time: each waits most of the time until the webhook is due again.
    while !all.is_empty() {
        let some = all.drain(..all.len().min(8));
        futures_util::future::join_all(some).await;
    }
}

#[test]
fn a_webhook_arrives_though_its_server_was_killed_on_sqlite() {
    run(killed_everywhere(|| None));
}

#[test]
fn a_webhook_arrives_though_its_server_was_killed_on_postgres() {
    let postgres = TestPostgres::start();
    run(killed_everywhere(|| Some(migrated_database(&postgres))));
}
