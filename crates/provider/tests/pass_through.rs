//! Bytes pass through unchanged, except for model name and credentials.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use common::*;
use prowess_provider::config::{ModelConfig, ProvidersConfig};
use prowess_provider::{
    ClientCredentials, Env, ForwardOutcome, ModelTask, Providers, Route, SecretText,
};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;

const BODY: &str = "{ \"model\" : \"ant/m1\",\n \"max_tokens\":5, \"big\": 12345678901234567890123,\t\"messages\":[{\"role\":\"user\",\"content\":\"Hell\\u00f6\"}]}";

fn sdk_credentials() -> ClientCredentials {
    ClientCredentials {
        key: None,
        headers: headers([
            ("authorization", "Bearer virtual-key"),
            ("anthropic-version", "2023-06-01"),
            ("anthropic-beta", "a,b"),
            ("accept", "application/json"),
            ("accept-encoding", "gzip, deflate"),
            ("content-type", "application/json"),
            ("user-agent", "Anthropic/Python 2.8.0"),
            ("x-stainless-lang", "python"),
        ]),
    }
}

#[tokio::test]
async fn a_request_arrives_byte_for_byte_but_for_model_and_key() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, MESSAGES_RESPONSE).header("request-id", "req_9"));
    let route = route_to(anthropic(upstream.url()));
    let answer = forward(
        &route,
        ClientDialect::Messages,
        ModelTask::Generate,
        BODY,
        &sdk_credentials(),
    )
    .await;
    let answer = passed(answer.unwrap());
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["request-id"], "req_9");
    let (bytes, error) = drain(answer.body).await;
    assert_eq!(
        (bytes.as_slice(), error),
        (MESSAGES_RESPONSE.as_bytes(), None)
    );

    let request = upstream.next_request().await;
    assert_eq!(request.text(), BODY.replace("ant/m1", "m1"));
    insta::assert_snapshot!(request.render(), @r#"
    POST /v1/messages
    anthropic-version: 2023-06-01
    anthropic-beta: a,b
    accept: application/json
    content-type: application/json
    user-agent: Anthropic/Python 2.8.0
    x-stainless-lang: python
    accept-encoding: identity
    x-api-key: sk-test-0123456789
    content-length: 119

    { "model" : "m1",
     "max_tokens":5, "big": 12345678901234567890123,	"messages":[{"role":"user","content":"Hell\u00f6"}]}
    "#);
}

#[tokio::test]
async fn a_stream_comes_back_byte_for_byte() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::sse(CHAT_STREAM).in_chunks(7));
    let route = route_to(openai(upstream.url()));
    let body = r#"{"model":"oai/m1","stream":true,"messages":[]}"#;
    let answer = forward(
        &route,
        ClientDialect::Chat,
        ModelTask::Generate,
        body,
        &ClientCredentials::default(),
    )
    .await;
    let answer = passed(answer.unwrap());
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let (bytes, error) = drain(answer.body).await;
    assert_eq!((bytes.as_slice(), error), (CHAT_STREAM.as_bytes(), None));
    insta::assert_snapshot!(upstream.next_request().await.render(), @r#"
    POST /v1/chat/completions
    accept-encoding: identity
    content-type: application/json
    authorization: Bearer sk-test-0123456789
    accept: */*
    content-length: 42

    {"model":"m1","stream":true,"messages":[]}
    "#);
}

#[tokio::test]
async fn an_error_is_passed_on_as_it_is_but_never_with_our_key_in_it() {
    let upstream = MockUpstream::start().await;
    let body = format!(
        r#"{{"type":"error","error":{{"type":"authentication_error","message":"bad key {KEY}"}}}}"#
    );
    upstream.respond(MockResponse::json(401, &body).header("x-should-retry", "false"));
    let route = route_to(anthropic(upstream.url()));
    let answer = forward(
        &route,
        ClientDialect::Messages,
        ModelTask::Generate,
        BODY,
        &sdk_credentials(),
    )
    .await;
    let answer = passed(answer.unwrap());
    assert_eq!(answer.status, 401);
    assert_eq!(answer.headers["x-should-retry"], "false");
    let (bytes, _) = drain(answer.body).await;
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        body.replace(KEY, "[redacted]")
    );
}

const THIRD: &str = r#"{"type":"error","error":{"type":"api_error","message":"3"}}"#;

#[tokio::test]
async fn a_request_is_sent_again_before_the_first_byte_and_the_last_error_is_passed_on() {
    let upstream = MockUpstream::start().await;
    upstream
        .respond(MockResponse::json(
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"1"}}"#,
        ))
        .respond(MockResponse::hang_up())
        .respond(MockResponse::json(500, THIRD));
    let route = route_to(anthropic(upstream.url()));
    let answer = forward(
        &route,
        ClientDialect::Messages,
        ModelTask::Generate,
        BODY,
        &sdk_credentials(),
    )
    .await;
    let answer = passed(answer.unwrap());
    assert_eq!(answer.status, 500);
    assert_eq!(drain(answer.body).await.0, THIRD.as_bytes());
    assert_eq!(upstream.requests().await.len(), 3);
}

#[tokio::test]
async fn what_the_client_would_not_understand_is_an_error_and_not_passed_on() {
    let upstream = MockUpstream::start().await;
    let page = MockResponse::bytes(502, "text/html", "<html>Bad gateway</html>");
    let foreign = MockResponse::json(404, r#"{"error":{"message":"no such model","code":"x"}}"#);
    let answers = [
        ("upstream-error", page),
        ("upstream-error", foreign),
        (
            "upstream-bad-response",
            MockResponse::json(200, "{malformed"),
        ),
        ("upstream-bad-response", MockResponse::json(200, "")),
        (
            "upstream-unreachable",
            MockResponse::json(200, r#"{"id":"#).cut_off(),
        ),
    ];
    let route = route_to(anthropic(upstream.url()));
    for (code, answer) in answers {
        upstream.respond_always(answer);
        let answer = forward(
            &route,
            ClientDialect::Messages,
            ModelTask::Generate,
            BODY,
            &sdk_credentials(),
        )
        .await;
        assert_eq!(answer.unwrap_err().code(), code);
    }
}

#[tokio::test]
async fn an_answer_too_long_to_be_read_first_passes_as_it_comes() {
    let upstream = MockUpstream::start().await;
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(3 << 20));
    upstream.respond(MockResponse::json(200, &long).in_chunks(700_000));
    let route = route_to(anthropic(upstream.url()));
    let answer = forward(
        &route,
        ClientDialect::Messages,
        ModelTask::Generate,
        BODY,
        &sdk_credentials(),
    )
    .await;
    let (bytes, error) = drain(passed(answer.unwrap()).body).await;
    assert!(bytes == long.as_bytes() && error.is_none());
}

#[tokio::test]
async fn a_cut_stream_gives_what_came_and_then_an_error() {
    let upstream = MockUpstream::start().await;
    let cut = "data: {}\n\ndata: {\"a\"";
    upstream.respond(MockResponse::sse(cut).cut_off());
    let route = route_to(anthropic(upstream.url()));
    let answer = forward(
        &route,
        ClientDialect::Messages,
        ModelTask::Generate,
        BODY,
        &sdk_credentials(),
    )
    .await;
    let (bytes, error) = drain(passed(answer.unwrap()).body).await;
    assert_eq!(bytes, cut.as_bytes());
    let error = error.unwrap();
    assert_eq!(error.code.as_deref(), Some("upstream-stream-cut"));
    assert_eq!(error.status, 502);
    assert_eq!(upstream.requests().await.len(), 1);
}

/// A stream that begins with an error of this type.
fn failed_stream(kind: &str, message: &str) -> String {
    format!(
        ": waiting\n\nevent: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{kind}\",\"message\":\"{message}\"}}}}\n\n"
    )
}

/// A route to a model, and to another one where that fails.
fn route_with_fallback(url: &str) -> Route {
    let mut provider = anthropic(url);
    provider.policies.retry.max_attempts = 1;
    let providers = Providers::new(ProvidersConfig {
        providers: vec![provider],
        models: vec![ModelConfig::new("safe", "ant").with_fallbacks(["ant/backup"])],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    })
    .unwrap();
    providers.route("safe").unwrap()
}

/// The status and the bytes of a response from this route.
async fn passed_bytes(route: &Route) -> (u16, String) {
    let (client, task) = (ClientDialect::Messages, ModelTask::Generate);
    let answer = forward(route, client, task, BODY, &sdk_credentials()).await;
    let answer = passed(answer.unwrap());
    let status = answer.status.as_u16();
    let (bytes, error) = drain(answer.body).await;
    assert_eq!(error, None);
    (status, String::from_utf8(bytes).unwrap())
}

#[tokio::test]
async fn a_stream_that_begins_with_an_error_leads_to_the_fallback() {
    let upstream = MockUpstream::start().await;
    let route = route_with_fallback(upstream.url());
    let overloaded = failed_stream("overloaded_error", "1");
    upstream
        .respond(MockResponse::sse(&overloaded))
        .respond(MockResponse::sse(MESSAGES_STREAM));
    let answered = (200, MESSAGES_STREAM.to_owned());
    assert_eq!(passed_bytes(&route).await, answered);
    let requests = upstream.requests().await;
    assert!(requests[1].text().contains("\"backup\""));

    // When all have failed, the last error is the answer.
    let last = failed_stream("overloaded_error", "2");
    upstream
        .respond(MockResponse::sse(&overloaded))
        .respond(MockResponse::sse(&last));
    assert_eq!(passed_bytes(&route).await, (200, last));
    // So is one of the request, at once.
    let refused = failed_stream("invalid_request_error", "no");
    upstream.requests().await;
    upstream.respond(MockResponse::sse(&refused));
    assert_eq!(passed_bytes(&route).await, (200, refused));
    assert_eq!(upstream.requests().await.len(), 1);
}

#[tokio::test]
async fn where_nothing_can_follow_nothing_of_a_stream_is_awaited() {
    let upstream = MockUpstream::start().await;
    let route = route_to(anthropic(upstream.url()));
    // It never has an event.
    upstream.respond(MockResponse::sse(": waiting\n\n").then_hang());
    let (client, task) = (ClientDialect::Messages, ModelTask::Generate);
    let answer = forward(&route, client, task, BODY, &sdk_credentials()).await;
    drop(passed(answer.unwrap()));
    upstream.client_disconnected().await;
}

#[tokio::test]
async fn a_stream_whose_first_event_is_too_long_is_passed_on() {
    let upstream = MockUpstream::start().await;
    let route = route_with_fallback(upstream.url());
    let long = format!("data: {{\"text\":\"{}\"}}\n\n", "x".repeat(300_000));
    upstream.respond(MockResponse::sse(&long).in_chunks(20_000));
    assert_eq!(passed_bytes(&route).await, (200, long));
}

#[tokio::test]
async fn a_client_that_leaves_closes_the_connection() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::sse("data: {}\n\n").then_endless());
    let route = route_to(anthropic(upstream.url()));
    let answer = forward(
        &route,
        ClientDialect::Messages,
        ModelTask::Generate,
        BODY,
        &sdk_credentials(),
    )
    .await;
    drop(answer.unwrap());
    upstream.client_disconnected().await;
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_closes_the_connection() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::never());
    let route = route_to(anthropic(upstream.url()));
    let task = tokio::spawn(async move {
        let credentials = sdk_credentials();
        forward(
            &route,
            ClientDialect::Messages,
            ModelTask::Generate,
            BODY,
            &credentials,
        )
        .await
        .map(|_| ())
    });
    upstream.next_request().await;
    task.abort();
    upstream.client_disconnected().await;
}

#[tokio::test]
async fn a_count_of_an_upstream_that_speaks_the_dialect_is_passed_on() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, r#"{"input_tokens":7}"#));
    let route = route_to(anthropic(upstream.url()));
    let answer = forward(
        &route,
        ClientDialect::Messages,
        ModelTask::CountTokens,
        BODY,
        &sdk_credentials(),
    )
    .await;
    assert_eq!(
        drain(passed(answer.unwrap()).body).await.0,
        br#"{"input_tokens":7}"#
    );
    assert_eq!(
        upstream.next_request().await.path,
        "/v1/messages/count_tokens"
    );
}

#[tokio::test]
async fn a_clients_own_key_is_used_only_where_it_is_allowed() {
    let upstream = MockUpstream::start().await;
    upstream.respond_always(MockResponse::json(200, MESSAGES_RESPONSE));
    let credentials = ClientCredentials {
        key: Some(SecretText::new("sk-callers-own")),
        ..sdk_credentials()
    };
    for (allowed, expected) in [(false, KEY), (true, "sk-callers-own")] {
        let mut config = anthropic(upstream.url());
        config.allow_client_key = allowed;
        let route = route_to(config);
        let answer = forward(
            &route,
            ClientDialect::Messages,
            ModelTask::Generate,
            BODY,
            &credentials,
        )
        .await;
        drain(passed(answer.unwrap()).body).await;
        let request = upstream.next_request().await;
        assert_eq!(request.header("x-api-key"), Some(expected));
    }
}

#[tokio::test]
async fn a_fallback_of_another_dialect_is_translated_to() {
    let first = MockUpstream::start().await;
    first.respond_always(MockResponse::json(
        503,
        r#"{"type":"error","error":{"type":"api_error","message":"down"}}"#,
    ));
    let second = MockUpstream::start().await;
    second.respond(MockResponse::json(200, CHAT_RESPONSE));
    let providers = Providers::new(ProvidersConfig {
        providers: vec![anthropic(first.url()), openai(second.url())],
        models: vec![ModelConfig::new("safe", "ant").with_fallbacks(["oai/backup"])],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    })
    .unwrap();
    let route = providers.route("safe").unwrap();
    let answer = forward(
        &route,
        ClientDialect::Messages,
        ModelTask::Generate,
        BODY,
        &sdk_credentials(),
    )
    .await;
    let ForwardOutcome::Translated { request, reply } = answer.unwrap() else {
        panic!("the second uses another dialect");
    };
    assert_eq!(request.max_tokens, Some(5));
    assert_eq!(
        (reply.provider.as_str(), reply.model.as_str()),
        ("oai", "backup")
    );
    assert_eq!(whole(*reply).content[0].as_text(), Some("Hi"));
    assert_eq!(first.requests().await.len(), 3);
}

#[tokio::test]
async fn an_error_of_the_request_is_not_taken_to_a_fallback() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#,
    ));
    let providers = Providers::new(ProvidersConfig {
        providers: vec![anthropic(upstream.url())],
        models: vec![ModelConfig::new("safe", "ant").with_fallbacks(["ant/backup"])],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    })
    .unwrap();
    let route = providers.route("safe").unwrap();
    let answer = forward(
        &route,
        ClientDialect::Messages,
        ModelTask::Generate,
        BODY,
        &sdk_credentials(),
    )
    .await;
    assert_eq!(passed(answer.unwrap()).status, 400);
    assert_eq!(upstream.requests().await.len(), 1);
}
