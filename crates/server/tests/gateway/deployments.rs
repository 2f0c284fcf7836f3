//! Several deployments of one model, as clients and operators see them.

use std::time::Duration;

use prowess_provider::config::{
    DeploymentConfig, ModelConfig, OpenAiOptions, ProviderConfig, ProviderKind, ProvidersConfig,
};
use prowess_provider::{Env, Providers};
use prowess_server::ServerSettings;
use prowess_store::{KeyLimits, KeyScope};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use serde_json::json;

use crate::gateway::{Gateway, KEY};

const PATH: &str = "/v1/chat/completions";
const ANSWER: &str = r#"{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}"#;
const STREAM: &str = "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

struct Deployed {
    gateway: Gateway,
    eu: MockUpstream,
    us: MockUpstream,
}

impl Deployed {
    /// The models `gpt`, with two deployments of which the first gets nearly all requests,
    /// `safe`, the same with a fallback, `one`, and `warm`, with both deployments and with
    /// conversations that stay where they are.
    async fn start() -> Deployed {
        let (eu, us) = (MockUpstream::start().await, MockUpstream::start().await);
        eu.respond_always(MockResponse::json(200, ANSWER));
        us.respond_always(MockResponse::json(200, ANSWER));
        let at = |name: &str, upstream: &MockUpstream| {
            let kind = ProviderKind::new(OpenAiOptions::default());
            ProviderConfig::new(name, kind)
                .with_base_url(format!("{}/v1", upstream.url()))
                .with_api_key(KEY)
        };
        let two = |name: &str| ModelConfig {
            sticky: Some(Duration::ZERO),
            ..ModelConfig::with_deployments(
                name,
                [
                    DeploymentConfig::new("eu").with_weight(u32::MAX),
                    DeploymentConfig::new("us"),
                ],
            )
        };
        let providers = Providers::new(ProvidersConfig {
            providers: vec![at("eu", &eu), at("us", &us)],
            models: vec![
                two("gpt"),
                two("safe").with_fallbacks(["us/backup"]),
                ModelConfig::new("one", "us"),
                ModelConfig {
                    sticky: None,
                    ..two("warm")
                },
            ],
            env: Env::from_pairs([]),
            ..ProvidersConfig::default()
        });
        let settings = ServerSettings {
            providers: Some(providers.unwrap()),
            ..ServerSettings::default()
        };
        Deployed {
            gateway: Gateway::with(settings).await,
            eu,
            us,
        }
    }

    /// Status, the header `prowess-route` and the body of a response.
    async fn ask(&self, model: &str, stream: bool) -> (u16, String, String) {
        let body = json!({
            "model": model, "stream": stream,
            "messages": [{"role": "user", "content": "Hello"}],
        });
        let answer = self.gateway.post(PATH, body.to_string()).await;
        let header = answer.header("prowess-route").unwrap_or("none").to_owned();
        (answer.status.as_u16(), header, answer.text().to_owned())
    }
}

#[tokio::test]
async fn the_deployment_that_answered_is_named_where_there_was_a_choice() {
    let deployed = Deployed::start().await;
    let (status, header, body) = deployed.ask("gpt", false).await;
    assert_eq!((status, body.as_str()), (200, ANSWER));
    assert_eq!(
        header,
        "model=gpt; deployment=eu/gpt; attempt=1; reason=weighted"
    );
    deployed.eu.respond(MockResponse::sse(STREAM));
    let (_, header, body) = deployed.ask("gpt", true).await;
    assert_eq!(body, STREAM);
    assert!(header.ends_with("reason=weighted"), "{header}");
    let (status, header, body) = deployed.ask("one", false).await;
    assert_eq!(
        (status, header.as_str(), body.as_str()),
        (200, "none", ANSWER)
    );
}

#[tokio::test]
async fn what_a_conversation_prefers_is_known_per_tenant() {
    let deployed = Deployed::start().await;
    let ask = async |key: &str| {
        let body = json!({
            "model": "warm", "messages": [{"role": "user", "content": "Hello"}],
        });
        let headers = [("x-api-key", key)];
        let answer = deployed.gateway.send(PATH, &headers, body.to_string());
        let answer = answer.await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.header("prowess-route").unwrap_or("none").to_owned()
    };
    let key = async |tenant: &str| {
        let limits = KeyLimits::default();
        deployed.gateway.key(tenant, KeyScope::Use, &limits).await
    };
    let (acme, globex) = (key("acme").await, key("globex").await);
    let failed = r#"{"error":{"message":"broken","type":"server_error","code":null}}"#;
    deployed.eu.respond(MockResponse::json(500, failed));
    let moved = ask(&acme).await;
    assert!(moved.contains("deployment=us/"), "{moved}");
    let stays = ask(&acme).await;
    assert!(stays.ends_with("reason=sticky"), "{stays}");
    let others = ask(&globex).await;
    assert!(others.ends_with("reason=weighted"), "{others}");
}

#[tokio::test]
async fn a_limited_deployment_is_replaced_and_shown_to_the_operator() {
    let deployed = Deployed::start().await;
    let limited = r#"{"error":{"message":"slow down","type":"requests","code":null}}"#;
    let limited = MockResponse::json(429, limited).header("retry-after", "3600");
    deployed.eu.respond(limited.clone());
    for expected in ["attempt=2; reason=retry:429", "attempt=1; reason=weighted"] {
        let (status, header, _) = deployed.ask("gpt", false).await;
        assert_eq!(status, 200);
        assert_eq!(header, format!("model=gpt; deployment=us/gpt; {expected}"));
    }
    let shown = deployed
        .gateway
        .get("/v1/admin/providers", &[])
        .await
        .json();
    let first = &shown["data"][0]["targets"][0];
    assert_eq!(first["model"], "gpt");
    assert_eq!(first["breaker"]["state"], "open");
    let deployment = &first["deployment"];
    assert_eq!(deployment["cooldown"]["reason"], "rate_limited");
    assert!(deployment["cooldown"]["seconds_left"].as_f64().unwrap() > 3_000.0);
    let second = &shown["data"][1]["targets"][0]["deployment"];
    assert_eq!(second["chosen"], 2);
    assert_eq!(second["cooldown"], json!(null));
    let alone = &shown["data"][1]["targets"][2];
    assert_eq!(
        (&alone["model"], &alone["deployment"]),
        (&json!("one"), &json!(null))
    );

    // With both at their limits nothing is sent, and the client is told when to come back.
    deployed.us.respond(limited);
    let (status, header, _) = deployed.ask("gpt", false).await;
    assert_eq!((status, header.as_str()), (429, "none"));
    deployed.eu.requests().await;
    deployed.us.requests().await;
    let body = json!({"model": "gpt", "messages": [{"role": "user", "content": "Hello"}]});
    let refused = deployed.gateway.post(PATH, body.to_string()).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.json()["error"]["code"], "no-deployment");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((3_000..=3_600).contains(&wait), "{wait}");
    assert!(deployed.eu.requests().await.is_empty());
    assert!(deployed.us.requests().await.is_empty());
}

#[tokio::test]
async fn a_fallback_that_answered_is_named_with_the_failure() {
    let deployed = Deployed::start().await;
    let failed = MockResponse::json(500, r#"{"error":{"message":"down"}}"#);
    deployed.eu.respond(failed.clone());
    deployed.us.respond(failed);
    let (status, header, _) = deployed.ask("safe", false).await;
    assert_eq!(status, 200);
    assert_eq!(
        header,
        "model=safe; deployment=us/backup; attempt=3; reason=fallback:500"
    );
}

#[tokio::test]
async fn a_run_names_the_deployment_of_its_first_turn() {
    let deployed = Deployed::start().await;
    let skill = crate::runs::stored(&deployed.gateway).await;
    for stream in [false, true] {
        let failed = MockResponse::json(500, r#"{"error":{"message":"down"}}"#);
        deployed.eu.respond(failed);
        if stream {
            deployed.us.respond(MockResponse::sse(STREAM));
        }
        let body = json!({
            "model": "gpt", "stream": stream,
            "container": {"skills": [{"type": "custom", "skill_id": skill}]},
            "messages": [{"role": "user", "content": "Hello"}],
        });
        let answer = deployed.gateway.post(PATH, body.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(answer.header("prowess-run").is_some());
        assert_eq!(
            answer.header("prowess-route"),
            Some("model=gpt; deployment=us/gpt; attempt=2; reason=retry:500")
        );
    }
    let body = json!({
        "model": "one", "container": {"skills": [{"type": "custom", "skill_id": skill}]},
        "messages": [{"role": "user", "content": "Hello"}],
    });
    let answer = deployed.gateway.post(PATH, body.to_string()).await;
    assert_eq!(answer.header("prowess-route"), None);
}
