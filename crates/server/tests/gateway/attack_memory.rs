//! Attacks on memory: JSON whose values take a hundred times its bytes, sent and stored.

use std::pin::pin;
use std::time::Duration;

use prowess_server::ServerSettings;
use prowess_skill::BundleLimits;
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::{CHAT, question};
use crate::gateway::Gateway;

const PATH: &str = "/v1/chat/completions";

/// Settings with which one request with many values leaves no place for another.
fn little_memory() -> ServerSettings {
    ServerSettings {
        request_bytes: 1 << 20,
        body_bytes_in_flight: 0,
        body_wait: Duration::ZERO,
        skill_limits: BundleLimits {
            total_bytes: 1_000,
            archive_bytes: 1_000,
            ..BundleLimits::default()
        },
        ..ServerSettings::default()
    }
}

/// A request of 20 kB whose values take more than two megabytes.
fn dense() -> Value {
    let mut request = question(ClientDialect::Chat, "oai/m1", false);
    request["messages"][0]["x"] = vec![json!([0]); 5_000].into();
    request
}

fn plain() -> String {
    question(ClientDialect::Chat, "oai/m1", false).to_string()
}

#[tokio::test]
async fn the_values_of_a_body_count_and_not_only_its_bytes() {
    let gateway = Gateway::with(little_memory()).await;
    gateway.upstream.respond(MockResponse::never());
    let mut first = pin!(gateway.post(PATH, dense().to_string()));
    tokio::select! {
        answer = &mut first => panic!("{}", answer.text()),
        _ = gateway.upstream.next_request() => {}
    }
    let refused = gateway.post(PATH, dense().to_string()).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert_eq!(refused.code(), "tenant-bodies-busy");
    // A request as they usually are has its place all the same.
    gateway.upstream.respond(MockResponse::json(200, CHAT));
    let answer = gateway.post(PATH, plain()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn a_body_with_more_values_than_are_ever_parsed_is_refused() {
    let gateway = Gateway::start().await;
    let mut request = plain();
    request.pop();
    request.push_str(",\"x\":[");
    request.push_str(&"[0],".repeat(6 << 20));
    request.push_str("0]}");
    let refused = gateway.post(PATH, request).await;
    assert_eq!(refused.status, 413, "{}", refused.text());
    assert_eq!(refused.code(), "too-many-values");
}

#[tokio::test]
async fn the_values_of_what_is_stored_count_when_it_is_read() {
    let writing = Gateway::start().await;
    writing.upstream.respond(MockResponse::json(200, CHAT));
    let mut request = dense();
    request["store"] = true.into();
    let stored = writing.post(PATH, request.to_string()).await;
    assert_eq!(stored.status, 200, "{}", stored.text());
    let id = stored.json()["id"].as_str().unwrap().to_owned();
    writing.upstream.next_request().await;

    let gateway = writing.beside(little_memory()).await;
    let messages = format!("{PATH}/{id}/messages");
    {
        gateway.upstream.respond(MockResponse::never());
        let mut first = pin!(gateway.post(PATH, dense().to_string()));
        tokio::select! {
            answer = &mut first => panic!("{}", answer.text()),
            _ = gateway.upstream.next_request() => {}
        }
        let refused = gateway.get(&messages, &[]).await;
        assert_eq!(refused.status, 429, "{}", refused.text());
        assert_eq!(refused.code(), "tenant-bodies-busy");
    }
    let read = gateway.get(&messages, &[]).await;
    assert_eq!(read.status, 200, "{}", read.text());
    assert_eq!(read.json()["data"][0]["role"], "user");
}

#[tokio::test]
async fn the_values_of_a_stored_conversation_count_when_it_is_continued() {
    let writing = Gateway::start().await;
    let item = json!({"role": "user", "content": "Hi", "x": vec![json!([0]); 5_000]});
    let made = writing.post("/v1/conversations", json!({"items": [item]}).to_string());
    let made = made.await;
    assert_eq!(made.status, 200, "{}", made.text());
    let conversation = made.json()["id"].clone();

    let gateway = writing.beside(little_memory()).await;
    let request = json!({"model": "ant/m1", "conversation": conversation, "input": "And?"});
    gateway.upstream.respond(MockResponse::never());
    let mut first = pin!(gateway.post("/v1/responses", request.to_string()));
    tokio::select! {
        answer = &mut first => panic!("{}", answer.text()),
        _ = gateway.upstream.next_request() => {}
    }
    let refused = gateway.post("/v1/responses", request.to_string()).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert_eq!(refused.code(), "tenant-bodies-busy");
}

#[tokio::test]
async fn the_values_of_a_kept_request_count_when_its_response_is_read() {
    const RESPONSES: &str = "/v1/responses";
    let writing = Gateway::start().await;
    writing.upstream.respond(MockResponse::never());
    let mut request = question(ClientDialect::Responses, "ant/m1", false);
    request["input"][0]["x"] = vec![json!([0]); 5_000].into();
    request["background"] = true.into();
    let made = writing.post(RESPONSES, request.to_string()).await;
    assert_eq!(made.status, 200, "{}", made.text());
    let response = format!("{RESPONSES}/{}", made.json()["id"].as_str().unwrap());
    writing.upstream.next_request().await;

    let gateway = writing.beside(little_memory()).await;
    let reads = [response.clone(), format!("{response}/input_items")];
    {
        gateway.upstream.respond(MockResponse::never());
        let mut first = pin!(gateway.post(PATH, dense().to_string()));
        tokio::select! {
            answer = &mut first => panic!("{}", answer.text()),
            _ = gateway.upstream.next_request() => {}
        }
        for path in &reads {
            let refused = gateway.get(path, &[]).await;
            assert_eq!(refused.status, 429, "{path}: {}", refused.text());
            assert_eq!(refused.code(), "tenant-bodies-busy", "{path}");
        }
    }
    for path in &reads {
        let read = gateway.get(path, &[]).await;
        assert_eq!(read.status, 200, "{path}: {}", read.text());
    }
}

#[tokio::test]
async fn a_body_for_a_path_of_a_provider_counts_until_it_is_answered() {
    let gateway = Gateway::with(little_memory()).await;
    gateway.upstream.respond(MockResponse::never());
    let path = "/providers/oai/v1/x";
    let mut first = pin!(gateway.post(path, dense().to_string()));
    tokio::select! {
        answer = &mut first => panic!("{}", answer.text()),
        _ = gateway.upstream.next_request() => {}
    }
    let refused = gateway.post(path, dense().to_string()).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert_eq!(refused.code(), "tenant-bodies-busy");
}

#[tokio::test]
async fn a_run_that_is_kept_has_few_values_also_in_the_conversation_that_it_continues() {
    let gateway = Gateway::start().await;
    // 400 kB whose values take some fifty megabytes.
    let many = vec![json!([0]); 100_000];
    let mut request = question(ClientDialect::Chat, "oai/m1", false);
    request["messages"][0]["x"] = many.clone().into();
    let keep = [("prowess-keep", "true")];
    let refused = gateway.send(PATH, &keep, request.to_string()).await;
    assert_eq!(refused.status, 413, "{}", refused.text());
    assert_eq!(refused.code(), "too-many-values");

    let item = json!({"role": "user", "content": "Hi", "x": many});
    let made = gateway.post("/v1/conversations", json!({"items": [item]}).to_string());
    let made = made.await;
    assert_eq!(made.status, 200, "{}", made.text());
    let conversation = made.json()["id"].clone();
    let request = json!({
        "model": "ant/m1", "conversation": conversation, "input": "And?", "background": true,
    });
    let refused = gateway.post("/v1/responses", request.to_string()).await;
    assert_eq!(refused.status, 413, "{}", refused.text());
    assert_eq!(refused.code(), "too-many-values");
}
