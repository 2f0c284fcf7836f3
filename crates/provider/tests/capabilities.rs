//! A request contains only what models of this name support, with or without an entry,
//! and the entry's overrides win.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

mod common;

use common::{CHAT_RESPONSE, KEY, MESSAGES_RESPONSE, anthropic, quick};
use prowess_provider::config::{
    BedrockOptions, ModelConfig, ProviderConfig, ProviderKind, ProvidersConfig, VertexOptions,
    WriteOverrides,
};
use prowess_provider::{ClientCredentials, Env, Providers};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

/// The body that a model receives for a request with a temperature, and the dropped
/// fields.
async fn sent(providers: &Providers, upstream: &MockUpstream, model: &str) -> (Value, Vec<String>) {
    upstream.respond(MockResponse::json(200, MESSAGES_RESPONSE));
    let body = json!({"model": model, "temperature": 0.5,
        "messages": [{"role": "user", "content": "Hi"}]});
    let request =
        prowess_wire::read_request(ClientDialect::Chat, body.to_string().as_bytes()).unwrap();
    let route = providers.route(model).unwrap();
    let reply = route
        .call(&request, &ClientCredentials::default())
        .await
        .unwrap();
    let sent = upstream.next_request().await;
    let dropped = reply.dropped.into_iter().map(|dropped| dropped.field);
    (
        serde_json::from_str(sent.text()).unwrap(),
        dropped.collect(),
    )
}

fn at(upstream: &MockUpstream, name: &str, kind: ProviderKind) -> ProviderConfig {
    ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new(name, kind)
            .with_base_url(upstream.url())
            .with_api_key(KEY)
    }
}

#[tokio::test]
async fn a_name_is_known_with_an_entry_and_without() {
    let upstream = MockUpstream::start().await;
    let providers = Providers::new(ProvidersConfig {
        providers: vec![
            anthropic(upstream.url()),
            at(
                &upstream,
                "aws",
                ProviderKind::new(BedrockOptions {
                    region: Some("eu-central-2".to_owned()),
                    ..BedrockOptions::default()
                }),
            ),
            at(
                &upstream,
                "vertex",
                ProviderKind::new(VertexOptions {
                    project: Some("p".to_owned()),
                    ..VertexOptions::default()
                }),
            ),
        ],
        models: vec![
            ModelConfig::new("best", "ant").with_upstream_model("claude-opus-4-7"),
            ModelConfig::new("any-*", "ant").with_upstream_model("claude-*"),
            ModelConfig {
                write_overrides: WriteOverrides {
                    sampling: Some(true),
                    ..WriteOverrides::default()
                },
                ..ModelConfig::new("forced", "ant").with_upstream_model("claude-opus-4-7")
            },
            ModelConfig::new("plain", "ant").with_upstream_model("claude-sonnet-4"),
        ],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    })
    .unwrap();
    for model in [
        "ant/claude-opus-4-7",
        "best",
        "any-opus-4-7",
        "aws/us.anthropic.claude-opus-4-7-v1:0",
        "vertex/claude-opus-4-7@20260416",
    ] {
        let (body, dropped) = sent(&providers, &upstream, model).await;
        assert_eq!(body.get("temperature"), None, "{model}");
        assert_eq!(dropped, ["temperature"], "{model}");
    }
    for model in ["forced", "plain", "ant/claude-sonnet-4", "ant/some-model"] {
        let (body, dropped) = sent(&providers, &upstream, model).await;
        assert_eq!(body["temperature"], 0.5, "{model}");
        assert!(dropped.is_empty(), "{model}");
    }
}

#[tokio::test]
async fn mistrals_rules_hold_for_its_kind_at_any_address_and_for_any_name() {
    let upstream = MockUpstream::start().await;
    let kind = ProviderKind::from_name("mistral").unwrap();
    let providers = common::providers([at(&upstream, "mistral", kind)]);
    upstream.respond(MockResponse::json(200, CHAT_RESPONSE));
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_01", "name": "look", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_01", "content": "3"},
            {"type": "text", "text": "A reminder."}]},
    ]});
    let request = prowess_wire::read_request(ClientDialect::Messages, body.to_string().as_bytes());
    let route = providers.route("mistral/my-own").unwrap();
    let credentials = ClientCredentials::default();
    route.call(&request.unwrap(), &credentials).await.unwrap();
    let sent: Value = serde_json::from_str(upstream.next_request().await.text()).unwrap();
    let roles: Vec<_> = sent["messages"].as_array().unwrap().iter().collect();
    let roles: Vec<_> = roles.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
    let id = sent["messages"][2]["tool_call_id"].as_str().unwrap();
    assert_eq!(sent["messages"][1]["tool_calls"][0]["id"], id);
    assert_eq!(id.len(), 9, "{id}");
}
