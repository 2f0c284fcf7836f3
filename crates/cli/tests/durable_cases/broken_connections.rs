//! Connections to the database that break while a run needs something beside its journal: the run
//! has not failed, and is resumed.

use prowess_testkit::postgres::PostgresServer;
use prowess_testkit::tcp_proxy::TcpProxy;
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use serde_json::{Value, json};

use crate::durable::bed::{Bed, SHORT_LEASE};
use crate::durable::model::prompts;
use crate::durable::poll::wait_for;
use crate::durable::request::KeptDialect;
use crate::run;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Breaks all connections when the server sends this text while it runs a run of a key, whose end
/// is announced.
async fn broken_at(text: &str) {
    let postgres = PostgresServer::start_durable();
    let port = postgres.port().unwrap();
    let proxy = TcpProxy::start(port);
    let (from, to) = (format!(":{port}/"), format!(":{}/", proxy.port()));
    let database = postgres.database().replace(&from, &to);
    let receiver = MockUpstream::start().await;
    receiver.respond_always(MockResponse::json(200, "{}"));
    let config = format!(
        "[webhooks]\nallow_private = true\n\
         [[webhooks.endpoints]]\nurl = '{}/'\nsecret = '{SECRET}'\nkeys = ['ci']\n",
        receiver.url()
    );
    let bed = Bed::start_with(Some(database), &[SHORT_LEASE], &config).await;
    let (_, secret) = bed.create_key(json!({"name": "ci"})).await;
    let body = KeptDialect::Polled.body(prompts::WRITE, &bed.skill);
    proxy.cut_at(text);
    // Its response may be lost too.
    let request = bed.post_as(&secret, "/v1/responses");
    Bed::send_in_background(request.body(body.to_string()));
    wait_for("the connections break", async || {
        (!proxy.is_to_be_cut()).then_some(())
    })
    .await;
    let run = bed.ended_run().await;
    assert_eq!(run.state, "completed", "{text}: {run:?}");
    let epoch = bed.number("SELECT epoch FROM journal_runs").await;
    assert_eq!(epoch, 2, "{text}");
    let announced = receiver.next_request().await;
    let announced: Value = serde_json::from_slice(&announced.body).unwrap();
    assert_eq!(announced["type"], "response.completed", "{text}");
    assert_eq!(bed.usage().await[0]["requests"], 1, "{text}");
}

#[test]
fn a_run_is_resumed_whose_connections_break_while_files_are_read() {
    run(broken_at("LEFT JOIN container_files"));
}

#[test]
fn a_run_is_resumed_whose_connections_break_while_its_key_is_read() {
    run(broken_at("tenant = $1 ORDER BY id DESC"));
}
