//! What each kind of provider is sent: method, path, headers, body.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests stop at the first surprise"
)]

mod common;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::*;
use prowess_provider::config::{
    AnthropicOptions, AwsKeys, AzureOptions, BedrockApi, BedrockOptions, Config, GeminiOptions,
    Kind, OpenAiOptions, ProviderConfig, VertexOptions,
};
use prowess_provider::{Caller, Env, Forwarded, KeySource, Providers, Route, Task};
use prowess_testkit::upstream::{Answer, Upstream};
use prowess_wire::event_stream::{Frame, write_frame};
use prowess_wire::neutral::Request;
use prowess_wire::{Client, Dialect};

const GEMINI_ANSWER: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1}}"#;
const CONVERSE_ANSWER: &str = r#"{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":1,"totalTokens":4}}"#;
const RESPONSES_ANSWER: &str = r#"{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m1","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[]}]}],"usage":{"input_tokens":3,"output_tokens":1,"total_tokens":4}}"#;

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

fn route(upstream: &Upstream, kind: Kind, model: &str) -> Route {
    let config = ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new("p", kind).at(upstream.url()).key(KEY)
    };
    providers([config]).route(&format!("p/{model}")).unwrap()
}

/// Calls a model and gives back what it said and what it was sent. A signature differs
/// from second to second, so it is left out.
async fn exchange(route: &Route, upstream: &Upstream, request: &Request) -> (String, String) {
    let caller = Caller {
        key: None,
        headers: headers([("anthropic-beta", "b1, b2"), ("x-other", "1")]),
    };
    let reply = route.call(request, &caller).await.unwrap();
    let text = if request.stream {
        let (text, error) = told(&rest(stream(reply)).await);
        assert_eq!(error, None);
        text
    } else {
        let response = whole(reply);
        response.content[0].as_text().unwrap().to_owned()
    };
    let sent = upstream.next_request().await.render();
    (text, sent)
}

/// What a model of a kind is sent for a whole answer and for a stream.
async fn sent(kind: Kind, model: &str, answer: Answer, streamed: Answer) -> String {
    let upstream = Upstream::start().await;
    upstream.answer(answer).answer(streamed);
    let route = route(&upstream, kind, model);
    let (text, whole) = exchange(&route, &upstream, &hello(false)).await;
    assert_eq!(text, "Hi");
    let (text, streamed) = exchange(&route, &upstream, &hello(true)).await;
    assert_eq!(text, "Hi");
    format!("{whole}\n\n{streamed}")
}

#[tokio::test]
async fn anthropic_is_sent_messages_with_its_key_header() {
    let kind = Kind::Anthropic(AnthropicOptions::default());
    let answer = Answer::json(200, MESSAGES_ANSWER);
    insta::assert_snapshot!(sent(kind, "m1", answer, Answer::sse(MESSAGES_STREAM)).await);
}

#[tokio::test]
async fn anthropic_of_a_later_version_is_sent_its_key_as_a_bearer() {
    let kind = Kind::Anthropic(AnthropicOptions {
        version: "2026-10-21".to_owned(),
    });
    let upstream = Upstream::start().await;
    upstream.answer(Answer::json(200, MESSAGES_ANSWER));
    // People write the version into the base as they do for every other provider.
    let config = ProviderConfig::new("p", kind)
        .at(format!("{}/v1/", upstream.url()))
        .key(KEY);
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
    let kind = Kind::OpenAi(OpenAiOptions {
        responses: Some(true),
    });
    let upstream = Upstream::start().await;
    upstream.answer_always(Answer::json(200, RESPONSES_ANSWER));
    let route = route(&upstream, kind, "m1");
    let body = r#"{"model":"p/m1","input":"Hello","store":false}"#;
    let caller = Caller::default();
    let answer = forward(&route, Client::Responses, Task::Generate, body, &caller).await;
    let (bytes, _) = drain(passed(answer.unwrap()).body).await;
    assert_eq!(bytes, RESPONSES_ANSWER.as_bytes());
    let received = upstream.next_request().await;
    assert_eq!(received.path, "/responses");
    assert_eq!(received.text(), body.replace("p/m1", "m1"));

    let mut request = hello(false);
    request.origin = Dialect::Responses;
    assert_eq!(exchange(&route, &upstream, &request).await.0, "Hi");

    let body = r#"{"model":"p/m1","input":"Hello"}"#;
    let answer = forward(&route, Client::Responses, Task::CountTokens, body, &caller).await;
    answer.unwrap();
    assert_eq!(
        upstream.next_request().await.path,
        "/responses/input_tokens"
    );
}

#[tokio::test]
async fn azure_is_sent_chat_on_its_newer_paths() {
    let kind = Kind::Azure(AzureOptions::default());
    let answer = Answer::json(200, CHAT_ANSWER);
    insta::assert_snapshot!(sent(kind, "m1", answer, Answer::sse(CHAT_STREAM)).await);
}

#[tokio::test]
async fn azure_is_sent_chat_on_its_classic_paths() {
    let kind = Kind::Azure(AzureOptions {
        api_version: Some("2024-10-21".to_owned()),
        bearer: true,
    });
    let answer = Answer::json(200, CHAT_ANSWER);
    insta::assert_snapshot!(sent(kind, "my deployment", answer, Answer::sse(CHAT_STREAM)).await);
}

#[tokio::test]
async fn gemini_is_sent_contents() {
    let kind = Kind::Gemini(GeminiOptions::default());
    let answer = Answer::json(200, GEMINI_ANSWER);
    let streamed = Answer::sse(&format!("data: {GEMINI_ANSWER}\n\n"));
    insta::assert_snapshot!(sent(kind, "gemini-x", answer, streamed).await);
}

#[tokio::test]
async fn bedrock_is_sent_converse() {
    let kind = Kind::Bedrock(BedrockOptions {
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
    let answer = Answer::json(200, CONVERSE_ANSWER);
    let streamed = Answer::frames(events).in_pieces(11);
    insta::assert_snapshot!(sent(kind, "amazon.nova-v1:0", answer, streamed).await);
}

#[tokio::test]
async fn bedrock_is_sent_anthropics_body_for_anthropics_models() {
    let kind = Kind::Bedrock(BedrockOptions {
        region: Some("eu-west-1".to_owned()),
        ..BedrockOptions::default()
    });
    let chunks: Vec<String> = MESSAGES_STREAM
        .split("\n\n")
        .filter_map(|event| event.split_once("data: "))
        .map(|(_, data)| format!(r#"{{"bytes":"{}"}}"#, STANDARD.encode(data)))
        .collect();
    let events: Vec<(&str, &str)> = chunks.iter().map(|c| ("chunk", c.as_str())).collect();
    let answer = Answer::json(200, MESSAGES_ANSWER);
    let streamed = Answer::frames(frames(&events));
    let model = "eu.anthropic.claude-x-v1:0";
    insta::assert_snapshot!(sent(kind, model, answer, streamed).await);
}

#[tokio::test]
async fn bedrock_requests_are_signed_when_there_is_no_bearer_token() {
    let upstream = Upstream::start().await;
    upstream.answer(Answer::json(200, CONVERSE_ANSWER));
    let kind = Kind::Bedrock(BedrockOptions {
        region: Some("eu-west-1".to_owned()),
        keys: Some(AwsKeys {
            access_key_id: KeySource::parse("AK"),
            secret_access_key: KeySource::parse("env:MY_SECRET"),
            session_token: None,
        }),
        api: BedrockApi::Converse,
        anthropic_version: None,
    });
    let providers = Providers::new(Config {
        providers: vec![ProviderConfig::new("p", kind).at(upstream.url())],
        env: Env::of([("MY_SECRET", "SK")]),
        ..Config::default()
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

fn vertex() -> Kind {
    Kind::Vertex(VertexOptions {
        project: Some("p1".to_owned()),
        location: Some("us-east5".to_owned()),
        ..VertexOptions::default()
    })
}

#[tokio::test]
async fn vertex_is_sent_anthropics_body_for_anthropics_models() {
    let answer = Answer::json(200, MESSAGES_ANSWER);
    let streamed = Answer::sse(MESSAGES_STREAM);
    insta::assert_snapshot!(sent(vertex(), "claude-x@20260101", answer, streamed).await);
}

#[tokio::test]
async fn vertex_is_sent_contents_for_googles_models() {
    let answer = Answer::json(200, GEMINI_ANSWER);
    let streamed = Answer::sse(&format!("data: {GEMINI_ANSWER}\n\n"));
    insta::assert_snapshot!(sent(vertex(), "gemini-x", answer, streamed).await);
}

#[tokio::test]
async fn a_messages_client_is_passed_through_to_anthropics_models_on_vertex() {
    let upstream = Upstream::start().await;
    upstream.answer(Answer::sse(MESSAGES_STREAM));
    let route = route(&upstream, vertex(), "claude-x");
    let body = r#"{"model":"p/claude-x","max_tokens":5,"stream":true,"messages":[]}"#;
    let caller = Caller {
        key: None,
        headers: headers([("anthropic-version", "2023-06-01")]),
    };
    let answer = forward(&route, Client::Messages, Task::Generate, body, &caller).await;
    let (bytes, _) = drain(passed(answer.unwrap()).body).await;
    assert_eq!(bytes, MESSAGES_STREAM.as_bytes());
    insta::assert_snapshot!(upstream.next_request().await.render());
}

#[tokio::test]
async fn tokens_are_counted_on_vertex_with_the_model_in_the_body() {
    let upstream = Upstream::start().await;
    upstream.answer(Answer::json(200, r#"{"input_tokens":7}"#));
    let route = route(&upstream, vertex(), "claude-x");
    let body = r#"{"model":"p/claude-x","messages":[]}"#;
    let caller = Caller::default();
    let answer = forward(&route, Client::Messages, Task::CountTokens, body, &caller).await;
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
    let upstream = Upstream::start().await;
    let answer = r#"{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}], "usageMetadata": {"promptTokenCount": 3}}"#;
    upstream.answer(Answer::json(200, answer));
    let google = route(&upstream, vertex(), "gemini-x");
    let body = r#"{ "contents": [{"parts":[{"text":"Hello"}]}] }"#;
    let caller = Caller {
        key: None,
        headers: headers([
            ("x-goog-api-key", "virtual"),
            ("x-goog-user-project", "theirs"),
        ]),
    };
    let given = forward(&google, Client::Gemini, Task::Generate, body, &caller).await;
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

    // Anthropic's models there are spoken to in Anthropic's words.
    upstream.answer(Answer::json(200, MESSAGES_ANSWER));
    let claude = route(&upstream, vertex(), "claude-x");
    let given = forward(&claude, Client::Gemini, Task::Generate, body, &caller).await;
    assert!(matches!(given.unwrap(), Forwarded::Called { .. }));
    assert!(
        upstream
            .next_request()
            .await
            .text()
            .contains("anthropic_version")
    );
}
