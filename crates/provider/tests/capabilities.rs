//! A model is sent what models of its name take, whether it has an entry or not, and what
//! its entry says wins.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

mod common;

use common::{KEY, MESSAGES_ANSWER, anthropic, quick};
use prowess_provider::config::{
    BedrockOptions, Config, Kind, ModelConfig, ProviderConfig, VertexOptions, WriteChanges,
};
use prowess_provider::{Caller, Env, Providers};
use prowess_testkit::upstream::{Answer, Upstream};
use prowess_wire::Client;
use serde_json::{Value, json};

/// What a model is sent of a request with a temperature.
async fn sent(providers: &Providers, upstream: &Upstream, model: &str) -> (Value, Vec<String>) {
    upstream.answer(Answer::json(200, MESSAGES_ANSWER));
    let body = json!({"model": model, "temperature": 0.5,
        "messages": [{"role": "user", "content": "Hi"}]});
    let request = prowess_wire::read_request(Client::Chat, body.to_string().as_bytes()).unwrap();
    let route = providers.route(model).unwrap();
    let reply = route.call(&request, &Caller::default()).await.unwrap();
    let sent = upstream.next_request().await;
    let dropped = reply.dropped.into_iter().map(|dropped| dropped.field);
    (
        serde_json::from_str(sent.text()).unwrap(),
        dropped.collect(),
    )
}

fn at(upstream: &Upstream, name: &str, kind: Kind) -> ProviderConfig {
    ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new(name, kind).at(upstream.url()).key(KEY)
    }
}

#[tokio::test]
async fn a_name_is_known_with_an_entry_and_without() {
    let upstream = Upstream::start().await;
    let providers = Providers::new(Config {
        providers: vec![
            anthropic(upstream.url()),
            at(
                &upstream,
                "aws",
                Kind::Bedrock(BedrockOptions {
                    region: Some("eu-central-2".to_owned()),
                    ..BedrockOptions::default()
                }),
            ),
            at(
                &upstream,
                "vertex",
                Kind::Vertex(VertexOptions {
                    project: Some("p".to_owned()),
                    ..VertexOptions::default()
                }),
            ),
        ],
        models: vec![
            ModelConfig::new("best", "ant").as_model("claude-opus-4-7"),
            ModelConfig::new("any-*", "ant").as_model("claude-*"),
            ModelConfig {
                write: WriteChanges {
                    sampling: Some(true),
                    ..WriteChanges::default()
                },
                ..ModelConfig::new("forced", "ant").as_model("claude-opus-4-7")
            },
            ModelConfig::new("plain", "ant").as_model("claude-sonnet-4"),
        ],
        env: Env::of([]),
        ..Config::default()
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
