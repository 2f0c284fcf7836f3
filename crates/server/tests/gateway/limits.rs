//! Limits of a key: models, rates and budgets.

use prowess_provider::config::{
    AnthropicOptions, ModelConfig, Policies, Price, ProviderConfig, ProviderKind, ProvidersConfig,
    RetryPolicy,
};
use prowess_provider::{Env, Providers};
use prowess_server::ServerSettings;
use prowess_store::{BudgetPeriod, KeyBudget, KeyLimits, KeyScope};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;

use crate::bodies::{MESSAGES, question};
use crate::gateway::{ClientResponse, Gateway, KEY, path};
use crate::runs::{load, model_response, request_naming, stored};

const CLIENTS: [ClientDialect; 3] = [
    ClientDialect::Messages,
    ClientDialect::Chat,
    ClientDialect::Responses,
];

async fn ask(gateway: &Gateway, client: ClientDialect, model: &str, key: &str) -> ClientResponse {
    let body = question(client, model, false).to_string();
    let headers = [("x-api-key", key)];
    gateway.send(path(client), &headers, body).await
}

/// Key prefixes and seconds differ between runs.
fn shown(answer: &ClientResponse) -> String {
    let text = answer.render();
    let start = text.find("sk-pw-").unwrap();
    let end = start + "sk-pw-".len() + 10;
    format!("{}sk-pw-…{}", &text[..start], &text[end..])
}

#[tokio::test]
async fn a_key_may_use_only_its_models() {
    let gateway = Gateway::start().await;
    let limits = KeyLimits {
        models: vec!["stage/*".to_owned(), "small".to_owned()],
        ..KeyLimits::default()
    };
    let key = gateway.key("default", KeyScope::Use, &limits).await;
    for client in CLIENTS {
        let allowed = ask(&gateway, client, "stage/hero", &key).await;
        assert_eq!(allowed.status, 200, "{}", allowed.text());
        let refused = ask(&gateway, client, "ant/m1", &key).await;
        assert_eq!(refused.status, 403, "{}", refused.text());
    }
    let refused = ask(&gateway, ClientDialect::Messages, "ant/m1", &key).await;
    insta::assert_snapshot!(shown(&refused));
    let refused = ask(&gateway, ClientDialect::Chat, "ant/m1", &key).await;
    insta::assert_snapshot!(shown(&refused));
    assert!(gateway.upstream.requests().await.is_empty());

    let headers = [("x-api-key", key.as_str())];
    let list = gateway.get("/v1/models", &headers).await.json();
    let models = list["data"].as_array().unwrap().iter();
    let names: Vec<_> = models.map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!(names, ["small"]);
    let one = gateway.get("/v1/models/small", &headers).await;
    assert_eq!(one.status, 200);
    let other = gateway.get("/v1/models/patient", &headers).await;
    assert_eq!(other.status, 404);
}

#[tokio::test]
async fn a_key_may_ask_only_so_often() {
    let gateway = Gateway::start().await;
    let limits = KeyLimits {
        requests_per_minute: Some(2),
        ..KeyLimits::default()
    };
    for client in CLIENTS {
        let key = gateway.key("default", KeyScope::Use, &limits).await;
        for _ in 0..2 {
            let answer = ask(&gateway, client, "stage/hero", &key).await;
            assert_eq!(answer.status, 200);
        }
        let refused = ask(&gateway, client, "stage/hero", &key).await;
        assert_eq!(refused.status, 429);
        let after: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=30).contains(&after), "{after}");
        assert_eq!(refused.header("x-should-retry"), None);
        let error = &refused.json()["error"];
        assert_eq!(error["type"], "rate_limit_error");
        let code = match client {
            ClientDialect::Messages => &error["details"]["error_code"],
            _ => &error["code"],
        };
        assert_eq!(code, "rate_limit_exceeded");
        // Other keys do not wait.
        let other = gateway.key("default", KeyScope::Use, &limits).await;
        let answer = ask(&gateway, client, "stage/hero", &other).await;
        assert_eq!(answer.status, 200);
    }
}

#[tokio::test]
async fn requests_that_are_sent_again_count_even_if_they_are_refused() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, MESSAGES));
    let limits = KeyLimits {
        requests_per_minute: Some(3),
        ..KeyLimits::default()
    };
    let key = gateway.key("default", KeyScope::Use, &limits).await;
    let headers = [("x-api-key", key.as_str()), ("idempotency-key", "order-18")];
    let mut request = question(ClientDialect::Messages, "small", false);
    // The second of them has the answer of the first, and the others are different requests.
    for (max_tokens, status) in [(50, 200_u16), (50, 200), (51, 409), (51, 429)] {
        request["max_tokens"] = max_tokens.into();
        let answer = gateway.send("/v1/messages", &headers, request.to_string());
        let answer = answer.await;
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    assert_eq!(gateway.upstream.requests().await.len(), 1);
}

#[tokio::test]
async fn requests_that_name_no_model_of_the_key_count_as_well() {
    let gateway = Gateway::start().await;
    let limits = KeyLimits {
        requests_per_minute: Some(2),
        models: vec!["stage/*".to_owned(), "no*".to_owned()],
        ..KeyLimits::default()
    };
    for client in CLIENTS {
        let key = gateway.key("default", KeyScope::Use, &limits).await;
        let forbidden = ask(&gateway, client, "ant/m1", &key).await;
        assert_eq!(forbidden.status, 403, "{}", forbidden.text());
        let unknown = ask(&gateway, client, "nobody", &key).await;
        assert_eq!(unknown.status, 404, "{}", unknown.text());
        for model in ["ant/m1", "nobody", "stage/hero"] {
            let refused = ask(&gateway, client, model, &key).await;
            assert_eq!(refused.status, 429, "{}", refused.text());
            assert!(refused.header("retry-after").is_some());
        }
    }
}

#[tokio::test]
async fn a_key_may_use_only_so_many_tokens() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, MESSAGES));
    let limits = KeyLimits {
        tokens_per_minute: Some(10),
        ..KeyLimits::default()
    };
    let key = gateway.key("default", KeyScope::Use, &limits).await;
    // 30 in and 10 out: more than allowed.
    let answer = ask(&gateway, ClientDialect::Messages, "small", &key).await;
    assert_eq!(answer.status, 200);
    let refused = ask(&gateway, ClientDialect::Chat, "small", &key).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert!(refused.text().contains("10 tokens per minute"));
    assert!(refused.header("retry-after").is_some());
}

#[tokio::test]
async fn counting_tokens_uses_none_of_a_key() {
    let gateway = Gateway::start().await;
    let limits = KeyLimits {
        tokens_per_minute: Some(10),
        ..KeyLimits::default()
    };
    let key = gateway.key("default", KeyScope::Use, &limits).await;
    let body = question(ClientDialect::Messages, "small", false).to_string();
    for _ in 0..3 {
        let counted = MockResponse::json(200, r#"{"input_tokens": 7000}"#);
        gateway.upstream.respond(counted);
        let headers = [("x-api-key", key.as_str())];
        let path = "/v1/messages/count_tokens";
        let answer = gateway.send(path, &headers, body.clone()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.text(), r#"{"input_tokens": 7000}"#);
    }
    gateway.upstream.respond(MockResponse::json(200, MESSAGES));
    let answer = ask(&gateway, ClientDialect::Messages, "small", &key).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn budget(nanos: u64, period: BudgetPeriod) -> KeyLimits {
    KeyLimits {
        budget: Some(KeyBudget { nanos, period }),
        ..KeyLimits::default()
    }
}

#[tokio::test]
async fn a_key_may_spend_only_its_budget_also_after_a_restart() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, MESSAGES));
    // One response costs 30 × 3 + 10 × 15 millionths: 240,000 billionths.
    let limits = budget(400_000, BudgetPeriod::Month);
    let key = gateway.key("default", KeyScope::Use, &limits).await;
    for _ in 0..2 {
        let answer = ask(&gateway, ClientDialect::Messages, "small", &key).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let refused = ask(&gateway, ClientDialect::Chat, "small", &key).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("x-should-retry"), Some("false"));
    assert!(refused.header("retry-after").is_some());
    insta::assert_snapshot!(shown(&refused));

    gateway.app.flush().await;
    let again = gateway.restarted().await;
    let refused = ask(&again, ClientDialect::Messages, "small", &key).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    insta::assert_snapshot!(shown(&refused));
}

#[tokio::test]
async fn a_model_without_a_price_costs_a_budget_nothing_and_its_response_is_marked() {
    let gateway = Gateway::start().await;
    let limits = budget(1, BudgetPeriod::Ever);
    let key = gateway.key("default", KeyScope::Use, &limits).await;
    for client in CLIENTS {
        let answer = ask(&gateway, client, "stage/hero", &key).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("prowess-unpriced"), Some("true"));
    }
    // Nobody else is told.
    let free = gateway
        .key("default", KeyScope::Use, &KeyLimits::default())
        .await;
    let answer = ask(&gateway, ClientDialect::Chat, "stage/hero", &free).await;
    assert_eq!(answer.header("prowess-unpriced"), None);
    gateway.app.flush().await;
    let usage = gateway.get("/v1/usage?by=key", &[]).await.json();
    let unpriced = usage["data"].as_array().unwrap().iter();
    let unpriced: Vec<_> = unpriced
        .map(|sum| sum["requests_without_price"].as_u64().unwrap())
        .collect();
    assert_eq!(unpriced.iter().sum::<u64>(), 4, "{usage}");
    // A spent budget is spent, whatever a model costs.
    gateway.upstream.respond(MockResponse::json(200, MESSAGES));
    let spent = ask(&gateway, ClientDialect::Messages, "small", &key).await;
    assert_eq!(spent.header("prowess-unpriced"), None);
    let refused = ask(&gateway, ClientDialect::Chat, "stage/hero", &key).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
}

#[tokio::test]
async fn a_run_pauses_once_the_budget_of_its_key_is_spent() {
    for keep in [false, true] {
        let gateway = Gateway::start().await;
        let skill = stored(&gateway).await;
        let turn = model_response("ant/m1", false, "Let me see.", &load());
        gateway.upstream.respond_always(turn);
        // The first turn costs 240,000 billionths.
        let limits = budget(200_000, BudgetPeriod::Ever);
        let key = gateway.key("default", KeyScope::Use, &limits).await;
        let request = request_naming(ClientDialect::Messages, "small", &skill, false);
        let mut headers = vec![("x-api-key", key.as_str())];
        if keep {
            headers.push(("prowess-keep", "true"));
        }
        let paused = gateway
            .send("/v1/messages", &headers, request.to_string())
            .await;
        assert_eq!(paused.status, 200, "{}", paused.text());
        assert_eq!(paused.json()["stop_reason"], "pause_turn");
        assert_eq!(gateway.upstream.requests().await.len(), 1);
        let refused = ask(&gateway, ClientDialect::Messages, "small", &key).await;
        assert_eq!(refused.status, 429, "{}", refused.text());
    }
}

#[tokio::test]
async fn a_repeated_request_has_its_answer_although_it_has_spent_the_budget() {
    let gateway = Gateway::start().await;
    let skill = stored(&gateway).await;
    let turn = model_response("ant/m1", false, "Let me see.", &load());
    gateway.upstream.respond_always(turn);
    // The first turn costs 240,000 billionths.
    let limits = budget(200_000, BudgetPeriod::Ever);
    let key = gateway.key("default", KeyScope::Use, &limits).await;
    let request = request_naming(ClientDialect::Messages, "small", &skill, false);
    let headers = [("x-api-key", key.as_str()), ("idempotency-key", "order-17")];
    let send = |body: String| gateway.send("/v1/messages", &headers, body);
    let first = send(request.to_string()).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let refused = ask(&gateway, ClientDialect::Messages, "small", &key).await;
    assert_eq!(refused.status, 429, "{}", refused.text());

    let again = send(request.to_string()).await;
    assert_eq!(again.status, 200, "{}", again.text());
    assert_eq!(again.json(), first.json());
    assert_eq!(again.header("prowess-run"), first.header("prowess-run"));
    let mut other = request;
    other["max_tokens"] = 7.into();
    let other = send(other.to_string()).await;
    assert_eq!(other.status, 409, "{}", other.text());
    assert_eq!(gateway.upstream.requests().await.len(), 1);
}

#[tokio::test]
async fn each_turn_of_a_run_costs_what_its_model_does() {
    let gateway = Gateway::start().await;
    let url = gateway.upstream.url();
    let price = |amount: f64| {
        Some(Price {
            input: amount,
            output: amount,
            ..Price::default()
        })
    };
    let anthropic = ProviderKind::new(AnthropicOptions::default());
    let once = || Policies {
        retry: RetryPolicy {
            max_attempts: 1,
            ..RetryPolicy::default()
        },
        ..Policies::default()
    };
    let at = |name: &str, kind: ProviderKind| ProviderConfig {
        policies: once(),
        ..ProviderConfig::new(name, kind)
            .with_base_url(url)
            .with_api_key(KEY)
    };
    let providers = Providers::new(ProvidersConfig {
        providers: vec![at("cheap", anthropic.clone()), at("dear", anthropic)],
        models: vec![
            ModelConfig {
                price: price(1.0),
                ..ModelConfig::new("mixed", "cheap").with_fallbacks(["large"])
            },
            ModelConfig {
                price: price(100.0),
                ..ModelConfig::new("large", "dear")
            },
        ],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    });
    let gateway = gateway
        .beside(ServerSettings {
            providers: Some(providers.unwrap()),
            ..ServerSettings::default()
        })
        .await;
    let skill = stored(&gateway).await;
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
    gateway
        .upstream
        .respond(model_response("ant/m1", false, "Let me see.", &load()))
        .respond(MockResponse::json(529, overloaded))
        .respond(model_response("ant/m1", false, "Done.", &[]));
    let request = request_naming(ClientDialect::Messages, "mixed", &skill, false);
    let answer = gateway.post("/v1/messages", request.to_string()).await;
    assert_eq!(
        answer.json()["stop_reason"],
        "end_turn",
        "{}",
        answer.text()
    );
    gateway.app.flush().await;
    let usage = gateway.get("/v1/usage", &[]).await.json();
    // 40 tokens for 1 per million, and 40 for 100.
    assert_eq!(usage["data"][0]["cost"], 0.00404, "{usage}");
}
