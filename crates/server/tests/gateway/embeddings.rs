//! `POST /v1/embeddings`: OpenAI's format in, models of every vendor behind it.

use prowess_provider::config::{
    ModelConfig, OpenAiOptions, Price, ProviderConfig, ProviderKind, ProvidersConfig,
};
use prowess_provider::{Env, Providers};
use prowess_server::ServerSettings;
use prowess_store::{BudgetPeriod, KeyBudget, KeyLimits, KeyScope};
use prowess_testkit::embedding_vendors::{self, vector};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use serde_json::json;

use crate::gateway::Gateway;

const PATH: &str = "/v1/embeddings";

async fn start() -> Gateway {
    let gateway = Gateway::start().await;
    gateway.upstream.respond_with(embedding_vendors::respond);
    gateway
}

fn body(model: &str) -> String {
    json!({"model": model, "input": ["a small text", "another"]}).to_string()
}

#[tokio::test]
async fn models_of_all_vendors_answer_in_openais_format() {
    let gateway = start().await;
    for model in ["oai/m1", "gem/m1"] {
        let answer = gateway.post(PATH, body(model)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let answer = answer.json();
        let item = |index: usize, text: &str| json!({"object": "embedding", "index": index, "embedding": vector(text)});
        let expected = json!({
            "object": "list", "model": "m1",
            "data": [item(0, "a small text"), item(1, "another")],
            "usage": {"prompt_tokens": 5, "total_tokens": 5},
        });
        assert_eq!(answer, expected, "{model}");
    }
    // As bytes, which every SDK of OpenAI requests.
    let request = json!({"model": "gem/m1", "input": "x", "encoding_format": "base64"});
    let answer = gateway.post(PATH, request.to_string()).await.json();
    assert_eq!(answer["data"][0]["embedding"], "AACAOgAAgDwAAAC/");
    let scripted = gateway.post(PATH, body("stage/hero")).await.json();
    assert_eq!(
        scripted["data"][1]["embedding"].as_array().unwrap().len(),
        256
    );
}

#[tokio::test]
async fn every_path_of_the_api_serves_them() {
    let gateway = start().await;
    for path in ["/embeddings", "/v1/v1/embeddings", "/openai/v1/embeddings"] {
        let answer = gateway.post(path, body("oai/m1")).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
    let refused = gateway.get(PATH, &[]).await;
    assert_eq!(
        (refused.status.as_u16(), refused.header("allow")),
        (405, Some("POST"))
    );
}

#[tokio::test]
async fn errors_are_in_openais_format() {
    let gateway = start().await;
    let tokens = json!({"model": "gem/m1", "input": [1, 2]}).to_string();
    let cases = [
        (r#"{"input": "a"}"#.to_owned(), 400, "missing-field"),
        (r#"{"model": "gem/m1"}"#.to_owned(), 400, "missing-field"),
        (tokens, 400, "unsupported-field"),
        (body("ant/m1"), 400, "unsupported-by-provider"),
        (body("nobody/m1"), 404, "model-not-found"),
        ("[]".to_owned(), 400, "invalid-json"),
    ];
    for (request, status, code) in cases {
        // The header of Anthropic's clients does not change the format of this path.
        let version = [("anthropic-version", "2023-06-01")];
        let answer = gateway.send(PATH, &version, request.clone()).await;
        assert_eq!(answer.status, status, "{request}: {}", answer.text());
        let error = &answer.json()["error"];
        assert_eq!(error["code"], code, "{request}: {error}");
        assert!(error["message"].is_string(), "{error}");
    }
    let limited = r#"{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}"#;
    gateway
        .upstream
        .respond_always(MockResponse::json(429, limited));
    let answer = gateway.post(PATH, body("gem/m1")).await;
    assert_eq!(answer.status, 429);
    assert_eq!(answer.json()["error"]["message"], "slow down");
}

#[tokio::test]
async fn fields_that_a_vendor_does_not_have_are_named() {
    let gateway = start().await;
    let request = json!({"model": "gem/m1", "input": "a", "user": "u", "other": 1});
    let answer = gateway.post(PATH, request.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("prowess-dropped"), Some("user, other"));
    assert_eq!(answer.header("prowess-estimated"), Some("true"));
}

#[tokio::test]
async fn their_tokens_are_metered() {
    let gateway = start().await;
    for (model, estimated) in [("oai/m1", 0), ("gem/m1", 1)] {
        gateway.post(PATH, body(model)).await;
        gateway.app.flush().await;
        let answer = gateway.get("/v1/usage", &[]).await.json();
        let sums = answer["data"].as_array().unwrap();
        let own = sums.iter().find(|sum| sum["model"] == model).unwrap();
        let number = |name: &str| own[name].as_u64().unwrap();
        assert_eq!(number("requests"), 1, "{own}");
        assert_eq!(
            (number("input_tokens"), number("output_tokens")),
            (5, 0),
            "{own}"
        );
        assert_eq!(number("requests_estimated"), estimated, "{own}");
    }
}

/// The model `priced` costs a dollar for a million tokens.
fn priced_providers(url: &str) -> Providers {
    let kind = ProviderKind::new(OpenAiOptions::default());
    let provider = ProviderConfig::new("oai", kind)
        .with_base_url(format!("{url}/v1"))
        .with_api_key("k");
    let price = Price {
        input: 1.0,
        output: 0.0,
        ..Price::default()
    };
    let providers = Providers::new(ProvidersConfig {
        providers: vec![provider],
        models: vec![ModelConfig {
            price: Some(price),
            ..ModelConfig::new("priced", "oai").with_upstream_model("m1")
        }],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    });
    providers.unwrap()
}

#[tokio::test]
async fn what_they_cost_counts_against_the_budget_of_the_key() {
    let upstream = MockUpstream::start().await;
    upstream.respond_with(embedding_vendors::respond);
    let gateway = Gateway::with(ServerSettings {
        providers: Some(priced_providers(upstream.url())),
        ..ServerSettings::default()
    })
    .await;
    // One response has 5 tokens, which cost 5,000 billionths.
    let limits = KeyLimits {
        budget: Some(KeyBudget {
            nanos: 8_000,
            period: BudgetPeriod::Month,
        }),
        ..KeyLimits::default()
    };
    let key = gateway.key("acme", KeyScope::Use, &limits).await;
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", bearer.as_str())];
    for _ in 0..2 {
        let answer = gateway.send(PATH, &headers, body("priced")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let refused = gateway.send(PATH, &headers, body("priced")).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert!(refused.text().contains("budget"), "{}", refused.text());
    assert_eq!(upstream.requests().await.len(), 2, "nobody was asked");
    // Another key of the same tenant has a budget of its own, and the sum is in the usage.
    let other = gateway.key("acme", KeyScope::Use, &limits).await;
    let other = format!("Bearer {other}");
    let other = [("authorization", other.as_str())];
    let answer = gateway.send(PATH, &other, body("priced")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    gateway.app.flush().await;
    let acme = [("prowess-tenant", "acme")];
    let sums = gateway.get("/v1/usage", &acme).await.json();
    // The one that was refused is counted as an error.
    assert_eq!(sums["data"][0]["requests"], 4, "{sums}");
    assert_eq!(sums["data"][0]["errors"], 1, "{sums}");
    assert_eq!(sums["data"][0]["input_tokens"], 15, "{sums}");
}

#[tokio::test]
async fn the_limits_of_keys_hold() {
    let gateway = start().await;
    let limits = KeyLimits {
        requests_per_minute: Some(1),
        models: vec!["oai/*".to_owned()],
        ..KeyLimits::default()
    };
    let key = gateway.key("acme", KeyScope::Use, &limits).await;
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", bearer.as_str())];
    assert_eq!(
        gateway.send(PATH, &headers, body("oai/m1")).await.status,
        200
    );
    let refused = gateway.send(PATH, &headers, body("oai/m1")).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    let reader = gateway
        .key("acme", KeyScope::Read, &KeyLimits::default())
        .await;
    let bearer = format!("Bearer {reader}");
    let refused = gateway
        .send(PATH, &[("authorization", &bearer)], body("oai/m1"))
        .await;
    assert_eq!(refused.status, 403, "{}", refused.text());
}
