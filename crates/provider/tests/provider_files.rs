//! Files that a provider's servers created, requested for a client.

mod common;

use common::*;
use prowess_provider::{CallError, ClientCredentials, ProviderFileOperation, SecretText};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;

const ERROR: &str = r#"{"type":"error","error":{"type":"not_found_error","message":"no file for sk-test-0123456789"}}"#;

fn sdk_credentials() -> ClientCredentials {
    ClientCredentials {
        key: Some(SecretText::new("sk-of-the-caller")),
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
async fn a_client_of_the_same_dialect_uses_the_providers_key() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::bytes(200, "image/png", [7; 100]).header("request-id", "req_9"));
    let providers = providers([anthropic(upstream.url())]);
    assert!(providers.has_file_storage("ant"));
    let credentials = sdk_credentials();
    let response = providers.request_file(
        "ant",
        ProviderFileOperation::Content,
        "file_1",
        ClientDialect::Messages,
        &credentials,
    );
    let file = response.await.unwrap();
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
async fn a_client_of_another_dialect_gets_a_request_of_the_gateways_own() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, "{}"));
    let providers = providers([anthropic(upstream.url())]);
    let credentials = sdk_credentials();
    let response = providers.request_file(
        "ant",
        ProviderFileOperation::Delete,
        "file_1",
        ClientDialect::Chat,
        &credentials,
    );
    assert_eq!(response.await.unwrap().status, 200);
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
async fn a_clients_own_key_is_used_where_it_may_be() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, "{}"));
    let mut config = anthropic(upstream.url());
    config.allow_client_key = true;
    let providers = providers([config]);
    let credentials = sdk_credentials();
    let response = providers.request_file(
        "ant",
        ProviderFileOperation::Metadata,
        "file_1",
        ClientDialect::Messages,
        &credentials,
    );
    response.await.unwrap();
    let sent = upstream.next_request().await;
    assert_eq!(sent.header("x-api-key"), Some("sk-of-the-caller"));
    assert_eq!(sent.header("anthropic-workspace-id"), Some("wrkspc_1"));
}

#[tokio::test]
async fn an_error_comes_back_as_it_was_to_those_who_understand_it_and_without_the_key() {
    let upstream = MockUpstream::start().await;
    upstream.respond_always(MockResponse::json(404, ERROR));
    let providers = providers([anthropic(upstream.url())]);
    let credentials = ClientCredentials::default();
    let request_file = async |client| {
        let response = providers.request_file(
            "ant",
            ProviderFileOperation::Content,
            "file_1",
            client,
            &credentials,
        );
        response.await
    };
    let response = request_file(ClientDialect::Messages).await.unwrap();
    assert_eq!(response.status, 404);
    let (body, _) = drain(response.body).await;
    let body = String::from_utf8(body).unwrap();
    assert!(body.contains("not_found_error"), "{body}");
    assert!(!body.contains("sk-test"), "{body}");
    let error = request_file(ClientDialect::Chat)
        .await
        .unwrap_err()
        .to_api_error();
    assert_eq!(error.status, 404);
    assert!(error.message.starts_with("no file for"), "{error:?}");

    upstream.respond(MockResponse::bytes(
        502,
        "text/html",
        "<h1>Bad gateway</h1>",
    ));
    let error = request_file(ClientDialect::Messages).await.unwrap_err();
    assert_eq!(error.to_api_error().status, 502);
}

#[tokio::test]
async fn a_provider_without_files_or_an_unknown_one_is_an_error() {
    let providers = providers([openai("http://127.0.0.1:9")]);
    assert!(!providers.has_file_storage("oai"));
    assert!(!providers.has_file_storage("gone"));
    let credentials = ClientCredentials::default();
    let request_file = async |provider| {
        let response = providers.request_file(
            provider,
            ProviderFileOperation::Metadata,
            "file_1",
            ClientDialect::Chat,
            &credentials,
        );
        response.await.unwrap_err()
    };
    insta::assert_snapshot!(request_file("oai").await, @"oai cannot serve files: it stores none");
    assert!(matches!(request_file("gone").await, CallError::Route(_)));
}
