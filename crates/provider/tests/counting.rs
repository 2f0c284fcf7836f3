//! Token counts: which endpoint each kind of provider is called at, and the estimate
//! without one.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests stop at the first surprise"
)]

mod common;

use common::*;
use prowess_provider::config::{
    AzureOptions, BedrockApi, BedrockOptions, GeminiOptions, OpenAiOptions, ProviderConfig,
    ProviderKind, VertexOptions,
};
use prowess_provider::{CallError, ClientCredentials, ForwardOutcome, InputTokenCount, ModelTask};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;

const BODY: &str = r#"{"model":"x","max_tokens":5,"temperature":0.5,"system":"Be kind","messages":[{"role":"user","content":"Hello"}],"tools":[{"name":"look","input_schema":{"type":"object"}}]}"#;

async fn count(config: ProviderConfig, model: &str) -> Result<InputTokenCount, CallError> {
    let name = format!("{}/{model}", config.name);
    let route = providers([config]).route(&name).unwrap();
    let task = ModelTask::CountTokens;
    match forward(
        &route,
        ClientDialect::Messages,
        task,
        BODY,
        &ClientCredentials::default(),
    )
    .await?
    {
        ForwardOutcome::TokenCount(counted) => Ok(counted),
        other => panic!("{other:?}"),
    }
}

/// The count request that a provider of a kind receives: a line and a body.
async fn count_request(kind: ProviderKind, model: &str, answer: &str) -> String {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, answer));
    let config = ProviderConfig::new("p", kind)
        .with_base_url(upstream.url())
        .with_api_key(KEY);
    let counted = count(config, model).await.unwrap();
    assert_eq!((counted.input_tokens, counted.estimated), (7, false));
    let sent = upstream.next_request().await;
    format!("{} {}\n{}", sent.method, sent.path, sent.text())
}

#[tokio::test]
async fn every_provider_with_a_token_counter_is_called() {
    let region = || BedrockOptions {
        region: Some("eu-west-1".to_owned()),
        ..BedrockOptions::default()
    };
    let converse = BedrockOptions {
        api: BedrockApi::Converse,
        ..region()
    };
    let vertex = VertexOptions {
        project: Some("acme".to_owned()),
        location: Some("global".to_owned()),
        ..VertexOptions::default()
    };
    let openai = OpenAiOptions {
        responses: Some(true),
    };
    let total = r#"{"totalTokens":7}"#;
    let input = r#"{"object":"response.input_tokens","input_tokens":7}"#;
    let aws = r#"{"inputTokens":7}"#;
    let mut all = Vec::new();
    for (kind, model, answer) in [
        (
            ProviderKind::new(GeminiOptions::default()),
            "gemini-3",
            total,
        ),
        (ProviderKind::new(vertex), "gemini-3", total),
        (ProviderKind::new(converse), "nova", aws),
        (ProviderKind::new(region()), "eu.anthropic.claude", aws),
        (ProviderKind::new(openai), "gpt", input),
        (ProviderKind::new(AzureOptions::default()), "gpt", input),
    ] {
        all.push(count_request(kind, model, answer).await);
    }
    insta::assert_snapshot!(all.join("\n\n"));
}

#[tokio::test]
async fn openais_counter_gets_no_field_that_it_refuses() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, r#"{"input_tokens":7}"#));
    let openai = OpenAiOptions {
        responses: Some(true),
    };
    let config = ProviderConfig::new("p", ProviderKind::new(openai))
        .with_base_url(upstream.url())
        .with_api_key(KEY);
    let route = providers([config]).route("p/gpt").unwrap();
    let body = r#"{"model":"x","max_completion_tokens":5,"prompt_cache_key":"k",
        "prompt_cache_retention":"24h","safety_identifier":"s","top_logprobs":2,"user":"u",
        "messages":[{"role":"user","content":"Hello"}]}"#;
    let (client, task) = (ClientDialect::Chat, ModelTask::CountTokens);
    let counted = forward(&route, client, task, body, &ClientCredentials::default()).await;
    let ForwardOutcome::TokenCount(counted) = counted.unwrap() else {
        panic!("no count");
    };
    assert!(!counted.estimated);
    let sent: serde_json::Value =
        serde_json::from_str(upstream.next_request().await.text()).unwrap();
    let fields: Vec<&str> = sent
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(fields, ["model", "input"]);
}

#[tokio::test]
async fn what_nobody_counts_is_estimated_and_marked_so() {
    let upstream = MockUpstream::start().await;
    let plain = count(openai(upstream.url()), "m1").await.unwrap();
    let script = count(scripted("[[step]]\ntext = \"x\"\n"), "m1").await;
    for counted in [plain, script.unwrap()] {
        assert!(counted.estimated);
        assert!((5..40).contains(&counted.input_tokens), "{counted:?}");
    }
    assert!(upstream.requests().await.is_empty());
    // A counter that does not support the model is not a failure.
    upstream.respond(MockResponse::json(404, "{}"));
    let kind = ProviderKind::new(GeminiOptions::default());
    let config = ProviderConfig::new("p", kind)
        .with_base_url(upstream.url())
        .with_api_key(KEY);
    assert!(count(config.clone(), "m1").await.unwrap().estimated);
    // One that rejects the key is.
    upstream.respond(MockResponse::json(401, r#"{"error":{"message":"no"}}"#));
    let refused = count(config, "m1").await.unwrap_err();
    assert_eq!(refused.to_api_error().status, 401);
}
