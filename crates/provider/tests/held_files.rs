//! Files that a provider's own servers made, asked for on behalf of a client.

mod common;

use common::*;
use prowess_provider::{CallError, Caller, FileAsk, Secret};
use prowess_testkit::upstream::{Answer, Upstream};
use prowess_wire::Client;

const ERROR: &str = r#"{"type":"error","error":{"type":"not_found_error","message":"no file for sk-test-0123456789"}}"#;

fn sdk() -> Caller {
    Caller {
        key: Some(Secret::new("sk-of-the-caller")),
        headers: headers([
            ("x-api-key", "virtual-key"),
            ("anthropic-version", "2023-06-01"),
            ("anthropic-beta", "a,b"),
            ("anthropic-workspace-id", "wrkspc_1"),
            ("accept", "application/binary"),
        ]),
    }
}

#[tokio::test]
async fn a_client_of_the_same_dialect_is_spoken_for_with_the_providers_key() {
    let upstream = Upstream::start().await;
    upstream.answer(Answer::bytes(200, "image/png", [7; 100]).header("request-id", "req_9"));
    let providers = providers([anthropic(upstream.url())]);
    assert!(providers.keeps_files("ant"));
    let caller = sdk();
    let asked = providers.file("ant", FileAsk::Content, "file_1", Client::Messages, &caller);
    let file = asked.await.unwrap();
    assert_eq!(file.status, 200);
    assert_eq!(file.headers["request-id"], "req_9");
    assert_eq!(drain(file.body).await, (vec![7; 100], None));
    insta::assert_snapshot!(upstream.next_request().await.render(), @"
    GET /v1/files/file_1/content
    anthropic-version: 2023-06-01
    anthropic-beta: a,b
    anthropic-beta: files-api-2025-04-14
    accept: application/binary
    accept-encoding: identity
    x-api-key: sk-test-0123456789
    ");
}

#[tokio::test]
async fn a_client_of_another_dialect_is_spoken_for_in_our_words() {
    let upstream = Upstream::start().await;
    upstream.answer(Answer::json(200, "{}"));
    let providers = providers([anthropic(upstream.url())]);
    let caller = sdk();
    let asked = providers.file("ant", FileAsk::Delete, "file_1", Client::Chat, &caller);
    assert_eq!(asked.await.unwrap().status, 200);
    let sent = upstream.next_request().await;
    let sent = sent.render().replace(env!("CARGO_PKG_VERSION"), "VERSION");
    insta::assert_snapshot!(sent, @"
    DELETE /v1/files/file_1
    accept: application/json
    accept-encoding: identity
    user-agent: prowess/VERSION
    anthropic-beta: files-api-2025-04-14
    anthropic-version: 2023-06-01
    x-api-key: sk-test-0123456789
    ");
}

#[tokio::test]
async fn a_callers_own_key_is_used_where_it_may_be() {
    let upstream = Upstream::start().await;
    upstream.answer(Answer::json(200, "{}"));
    let mut config = anthropic(upstream.url());
    config.caller_key = true;
    let providers = providers([config]);
    let caller = sdk();
    let asked = providers.file("ant", FileAsk::About, "file_1", Client::Messages, &caller);
    asked.await.unwrap();
    let sent = upstream.next_request().await;
    assert_eq!(sent.header("x-api-key"), Some("sk-of-the-caller"));
    assert_eq!(sent.header("anthropic-workspace-id"), Some("wrkspc_1"));
}

#[tokio::test]
async fn an_error_comes_back_as_it_was_to_those_who_understand_it_and_without_the_key() {
    let upstream = Upstream::start().await;
    upstream.answer_always(Answer::json(404, ERROR));
    let providers = providers([anthropic(upstream.url())]);
    let caller = Caller::default();
    let ask = async |client| {
        let asked = providers.file("ant", FileAsk::Content, "file_1", client, &caller);
        asked.await
    };
    let told = ask(Client::Messages).await.unwrap();
    assert_eq!(told.status, 404);
    let (body, _) = drain(told.body).await;
    let body = String::from_utf8(body).unwrap();
    assert!(body.contains("not_found_error"), "{body}");
    assert!(!body.contains("sk-test"), "{body}");
    let error = ask(Client::Chat).await.unwrap_err().to_api_error();
    assert_eq!(error.status, 404);
    assert!(error.message.starts_with("no file for"), "{error:?}");

    upstream.answer(Answer::bytes(502, "text/html", "<h1>Bad gateway</h1>"));
    let error = ask(Client::Messages).await.unwrap_err();
    assert_eq!(error.to_api_error().status, 502);
}

#[tokio::test]
async fn a_provider_that_keeps_no_files_or_is_not_there_says_so() {
    let providers = providers([openai("http://127.0.0.1:9")]);
    assert!(!providers.keeps_files("oai"));
    assert!(!providers.keeps_files("gone"));
    let caller = Caller::default();
    let ask = async |provider| {
        let asked = providers.file(provider, FileAsk::About, "file_1", Client::Chat, &caller);
        asked.await.unwrap_err()
    };
    insta::assert_snapshot!(ask("oai").await, @"oai cannot give files: it keeps none");
    assert!(matches!(ask("gone").await, CallError::Route(_)));
}
