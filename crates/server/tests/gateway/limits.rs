//! Limits of a key: models, rates and budgets.

use prowess_store::{BudgetPeriod, KeyBudget, KeyLimits, KeyScope};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;

use crate::bodies::{MESSAGES, question};
use crate::gateway::{ClientResponse, Gateway, path};

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
