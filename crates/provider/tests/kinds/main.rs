//! What each kind of provider receives: method, path, headers, body.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests stop at the first surprise"
)]

#[path = "../common/mod.rs"]
mod common;

// One module per kind of this folder.
include!(concat!(env!("OUT_DIR"), "/kind_tests.rs"));

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::*;
use prowess_provider::config::{
    AnthropicOptions, AwsKeys, AzureOptions, BedrockApi, BedrockOptions, GeminiOptions,
    OpenAiOptions, ProviderConfig, ProviderKind, ProvidersConfig, VertexOptions,
};
use prowess_provider::{
    ClientCredentials, Env, ForwardOutcome, KeySource, ModelTask, Providers, Route,
};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::event_stream::{Frame, write_frame};
use prowess_wire::neutral::Request;
use prowess_wire::{ClientDialect, Dialect};

const GEMINI_RESPONSE: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1}}"#;
const CONVERSE_RESPONSE: &str = r#"{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":1,"totalTokens":4}}"#;
const RESPONSES_RESPONSE: &str = r#"{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m1","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[]}]}],"usage":{"input_tokens":3,"output_tokens":1,"total_tokens":4}}"#;

fn frames(events: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, payload) in events {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let frame = Frame {
            headers: vec![
                header(":message-type", "event"),
                header(":event-type", name),
                header(":content-type", "application/json"),
            ],
            payload: payload.as_bytes().to_vec(),
        };
        write_frame(&frame, &mut out).unwrap();
    }
    out
}

fn route(upstream: &MockUpstream, kind: ProviderKind, model: &str) -> Route {
    let config = ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new("p", kind)
            .with_base_url(upstream.url())
            .with_api_key(KEY)
    };
    providers([config]).route(&format!("p/{model}")).unwrap()
}

/// Calls a model; returns its text and the request it received. A signature changes every
/// second, so it is left out.
async fn exchange(route: &Route, upstream: &MockUpstream, request: &Request) -> (String, String) {
    let credentials = ClientCredentials {
        key: None,
        headers: headers([
            // Of these, only Anthropic itself accepts the second.
            ("anthropic-beta", "context-1m-2025-08-07, b2"),
            ("x-other", "1"),
        ]),
    };
    let reply = route.call(request, &credentials).await.unwrap();
    let text = if request.stream {
        let (text, error) = collect_text(&rest(stream(reply)).await);
        assert_eq!(error, None);
        text
    } else {
        let response = whole(reply);
        response.content[0].as_text().unwrap().to_owned()
    };
    let sent = upstream.next_request().await.render();
    (text, sent)
}

/// What a model of a kind receives for a complete response and for a stream.
async fn sent(
    kind: ProviderKind,
    model: &str,
    answer: MockResponse,
    streamed: MockResponse,
) -> String {
    let upstream = MockUpstream::start().await;
    upstream.respond(answer).respond(streamed);
    let route = route(&upstream, kind, model);
    let (text, whole) = exchange(&route, &upstream, &hello(false)).await;
    assert_eq!(text, "Hi");
    let (text, streamed) = exchange(&route, &upstream, &hello(true)).await;
    assert_eq!(text, "Hi");
    format!("{whole}\n\n{streamed}")
}

#[tokio::test]
async fn anthropic_is_sent_messages_with_its_key_header() {
    let kind = ProviderKind::new(AnthropicOptions::default());
    let answer = MockResponse::json(200, MESSAGES_RESPONSE);
    insta::assert_snapshot!(sent(kind, "m1", answer, MockResponse::sse(MESSAGES_STREAM)).await);
}

#[tokio::test]
async fn anthropic_of_a_later_version_is_sent_its_key_as_a_bearer() {
    let kind = ProviderKind::new(AnthropicOptions {
        version: "2026-10-21".to_owned(),
    });
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, MESSAGES_RESPONSE));
    // People write the version into the address, as for every other provider.
    let config = ProviderConfig::new("p", kind)
        .with_base_url(format!("{}/v1/", upstream.url()))
        .with_api_key(KEY);
    let mut request = hello(false);
    request.temperature = serde_json::Number::from_f64(0.5);
    call(&route_to(config), &request).await.unwrap();
    let received = upstream.next_request().await;
    assert_eq!(received.path, "/v1/messages");
    assert_eq!(received.header("x-api-key"), None);
    assert_eq!(
        received.header("authorization"),
        Some("Bearer sk-test-0123456789")
    );
    assert!(!received.text().contains("temperature"));
}

#[tokio::test]
async fn a_responses_client_is_answered_in_responses_where_there_are_any() {
    let kind = ProviderKind::new(OpenAiOptions {
        responses: Some(true),
    });
    let upstream = MockUpstream::start().await;
    upstream.respond_always(MockResponse::json(200, RESPONSES_RESPONSE));
    let route = route(&upstream, kind, "m1");
    let body = r#"{"model":"p/m1","input":"Hello","store":false}"#;
    let credentials = ClientCredentials::default();
    let answer = forward(
        &route,
        ClientDialect::Responses,
        ModelTask::Generate,
        body,
        &credentials,
    )
    .await;
    let (bytes, _) = drain(passed(answer.unwrap()).body).await;
    assert_eq!(bytes, RESPONSES_RESPONSE.as_bytes());
    let received = upstream.next_request().await;
    assert_eq!(received.path, "/responses");
    assert_eq!(received.text(), body.replace("p/m1", "m1"));

    let mut request = hello(false);
    request.origin = Dialect::Responses;
    assert_eq!(exchange(&route, &upstream, &request).await.0, "Hi");

    let body = r#"{"model":"p/m1","input":"Hello"}"#;
    let answer = forward(
        &route,
        ClientDialect::Responses,
        ModelTask::CountTokens,
        body,
        &credentials,
    )
    .await;
    answer.unwrap();
    assert_eq!(
        upstream.next_request().await.path,
        "/responses/input_tokens"
    );
}

#[tokio::test]
async fn azure_is_sent_chat_on_its_newer_paths() {
    let kind = ProviderKind::new(AzureOptions::default());
    let answer = MockResponse::json(200, CHAT_RESPONSE);
    insta::assert_snapshot!(sent(kind, "m1", answer, MockResponse::sse(CHAT_STREAM)).await);
}

#[tokio::test]
async fn azure_is_sent_chat_on_its_classic_paths() {
    let kind = ProviderKind::new(AzureOptions {
        api_version: Some("2024-10-21".to_owned()),
        bearer: true,
        ..AzureOptions::default()
    });
    let answer = MockResponse::json(200, CHAT_RESPONSE);
    insta::assert_snapshot!(
        sent(
            kind,
            "my deployment",
            answer,
            MockResponse::sse(CHAT_STREAM)
        )
        .await
    );
}

#[tokio::test]
async fn gemini_is_sent_contents() {
    let kind = ProviderKind::new(GeminiOptions::default());
    let answer = MockResponse::json(200, GEMINI_RESPONSE);
    let streamed = MockResponse::sse(&format!("data: {GEMINI_RESPONSE}\n\n"));
    insta::assert_snapshot!(sent(kind, "gemini-x", answer, streamed).await);
}

#[tokio::test]
async fn bedrock_is_sent_converse() {
    let kind = ProviderKind::new(BedrockOptions {
        region: Some("eu-west-1".to_owned()),
        ..BedrockOptions::default()
    });
    let events = frames(&[
        ("messageStart", r#"{"role":"assistant"}"#),
        (
            "contentBlockDelta",
            r#"{"contentBlockIndex":0,"delta":{"text":"Hi"}}"#,
        ),
        ("contentBlockStop", r#"{"contentBlockIndex":0}"#),
        ("messageStop", r#"{"stopReason":"end_turn"}"#),
        (
            "metadata",
            r#"{"usage":{"inputTokens":3,"outputTokens":1,"totalTokens":4}}"#,
        ),
    ]);
    let answer = MockResponse::json(200, CONVERSE_RESPONSE);
    let streamed = MockResponse::frames(events).in_chunks(11);
    insta::assert_snapshot!(sent(kind, "amazon.nova-v1:0", answer, streamed).await);
}

#[tokio::test]
async fn bedrock_is_sent_anthropics_body_for_anthropics_models() {
    let kind = ProviderKind::new(BedrockOptions {
        region: Some("eu-west-1".to_owned()),
        ..BedrockOptions::default()
    });
    let chunks: Vec<String> = MESSAGES_STREAM
        .split("\n\n")
        .filter_map(|event| event.split_once("data: "))
        .map(|(_, data)| format!(r#"{{"bytes":"{}"}}"#, STANDARD.encode(data)))
        .collect();
    let events: Vec<(&str, &str)> = chunks.iter().map(|c| ("chunk", c.as_str())).collect();
    let answer = MockResponse::json(200, MESSAGES_RESPONSE);
    let streamed = MockResponse::frames(frames(&events));
    let model = "eu.anthropic.claude-x-v1:0";
    insta::assert_snapshot!(sent(kind, model, answer, streamed).await);
}

#[tokio::test]
async fn bedrock_requests_are_signed_when_there_is_no_bearer_token() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, CONVERSE_RESPONSE));
    let kind = ProviderKind::new(BedrockOptions {
        region: Some("eu-west-1".to_owned()),
        keys: Some(AwsKeys {
            access_key_id: KeySource::parse("AK"),
            secret_access_key: KeySource::parse("env:MY_SECRET"),
            session_token: None,
        }),
        api: BedrockApi::Converse,
        ..BedrockOptions::default()
    });
    let providers = Providers::new(ProvidersConfig {
        providers: vec![ProviderConfig::new("p", kind).with_base_url(upstream.url())],
        env: Env::from_pairs([("MY_SECRET", "SK")]),
        ..ProvidersConfig::default()
    })
    .unwrap();
    let route = providers.route("p/anthropic.claude-x").unwrap();
    call(&route, &hello(false)).await.unwrap();
    let received = upstream.next_request().await;
    assert_eq!(received.path, "/model/anthropic.claude-x/converse");
    let (credential, signature) = received
        .header("authorization")
        .unwrap()
        .split_once("SignedHeaders=")
        .unwrap();
    assert!(credential.starts_with("AWS4-HMAC-SHA256 Credential=AK/"));
    assert!(credential.ends_with("/eu-west-1/bedrock/aws4_request, "));
    assert!(signature.starts_with("content-type;host;x-amz-date, Signature="));
    assert!(received.header("x-amz-date").is_some());
}

fn vertex() -> ProviderKind {
    ProviderKind::new(VertexOptions {
        project: Some("p1".to_owned()),
        location: Some("us-east5".to_owned()),
        ..VertexOptions::default()
    })
}

#[tokio::test]
async fn vertex_is_sent_anthropics_body_for_anthropics_models() {
    let answer = MockResponse::json(200, MESSAGES_RESPONSE);
    let streamed = MockResponse::sse(MESSAGES_STREAM);
    insta::assert_snapshot!(sent(vertex(), "claude-x@20260101", answer, streamed).await);
}

#[tokio::test]
async fn vertex_is_sent_contents_for_googles_models() {
    let answer = MockResponse::json(200, GEMINI_RESPONSE);
    let streamed = MockResponse::sse(&format!("data: {GEMINI_RESPONSE}\n\n"));
    insta::assert_snapshot!(sent(vertex(), "gemini-x", answer, streamed).await);
}

#[tokio::test]
async fn a_messages_client_is_passed_through_to_anthropics_models_on_vertex() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::sse(MESSAGES_STREAM));
    let route = route(&upstream, vertex(), "claude-x");
    let body = r#"{"model":"p/claude-x","max_tokens":5,"stream":true,"messages":[]}"#;
    let credentials = ClientCredentials {
        key: None,
        headers: headers([("anthropic-version", "2023-06-01")]),
    };
    let answer = forward(
        &route,
        ClientDialect::Messages,
        ModelTask::Generate,
        body,
        &credentials,
    )
    .await;
    let (bytes, _) = drain(passed(answer.unwrap()).body).await;
    assert_eq!(bytes, MESSAGES_STREAM.as_bytes());
    insta::assert_snapshot!(upstream.next_request().await.render());
}

#[tokio::test]
async fn tokens_are_counted_on_vertex_with_the_model_in_the_body() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, r#"{"input_tokens":7}"#));
    let route = route(&upstream, vertex(), "claude-x");
    let body = r#"{"model":"p/claude-x","messages":[]}"#;
    let credentials = ClientCredentials::default();
    let answer = forward(
        &route,
        ClientDialect::Messages,
        ModelTask::CountTokens,
        body,
        &credentials,
    )
    .await;
    passed(answer.unwrap());
    let received = upstream.next_request().await;
    assert!(received.path.ends_with("/models/count-tokens:rawPredict"));
    assert_eq!(
        received.text(),
        r#"{"model":"claude-x","messages":[],"anthropic_version":"vertex-2023-10-16"}"#
    );
}

#[tokio::test]
async fn a_gemini_client_is_passed_through_to_googles_models_on_vertex() {
    let upstream = MockUpstream::start().await;
    let answer = r#"{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}], "usageMetadata": {"promptTokenCount": 3}}"#;
    upstream.respond(MockResponse::json(200, answer));
    let google = route(&upstream, vertex(), "gemini-x");
    let body = r#"{ "contents": [{"parts":[{"text":"Hello"}]}] }"#;
    let credentials = ClientCredentials {
        key: None,
        headers: headers([
            ("x-goog-api-key", "virtual"),
            ("x-goog-user-project", "theirs"),
        ]),
    };
    let given = forward(
        &google,
        ClientDialect::Gemini,
        ModelTask::Generate,
        body,
        &credentials,
    )
    .await;
    let given = passed(given.unwrap());
    assert_eq!(given.usage.as_ref().unwrap().input_tokens, 3);
    assert_eq!(drain(given.body).await.0, answer.as_bytes());
    let sent = upstream.next_request().await;
    assert!(
        sent.path
            .ends_with("/publishers/google/models/gemini-x:generateContent")
    );
    assert_eq!(sent.text(), body);
    assert_eq!(sent.header("x-goog-api-key"), None);
    assert_eq!(sent.header("x-goog-user-project"), None);

    // Anthropic's models there are called in Anthropic's dialect.
    upstream.respond(MockResponse::json(200, MESSAGES_RESPONSE));
    let claude = route(&upstream, vertex(), "claude-x");
    let given = forward(
        &claude,
        ClientDialect::Gemini,
        ModelTask::Generate,
        body,
        &credentials,
    )
    .await;
    assert!(matches!(given.unwrap(), ForwardOutcome::Translated { .. }));
    assert!(
        upstream
            .next_request()
            .await
            .text()
            .contains("anthropic_version")
    );
}
