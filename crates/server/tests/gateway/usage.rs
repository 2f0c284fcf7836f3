//! Usage is written and can be read back.

use prowess_store::{KeyLimits, KeyScope};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::{CHAT, CHAT_STREAM, MESSAGES, MESSAGES_STREAM, question};
use crate::gateway::{Gateway, path};

/// The sums by model, without time-dependent fields.
async fn sums(gateway: &Gateway, query: &str) -> Vec<Value> {
    gateway.app.flush().await;
    let answer = gateway.get(&format!("/v1/usage?{query}"), &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let mut list = answer.json();
    let list = list["data"].as_array_mut().unwrap();
    for sum in list.iter_mut() {
        sum.as_object_mut().unwrap().remove("average_ms").unwrap();
    }
    std::mem::take(list)
}

#[tokio::test]
async fn tokens_are_counted_on_every_path() {
    for (client, provider, stream) in [
        (ClientDialect::Messages, "ant", false),
        (ClientDialect::Messages, "ant", true),
        (ClientDialect::Messages, "oai", false),
        (ClientDialect::Messages, "oai", true),
        (ClientDialect::Chat, "oai", false),
        (ClientDialect::Chat, "oai", true),
        (ClientDialect::Chat, "ant", true),
        (ClientDialect::Responses, "oai", true),
    ] {
        let gateway = Gateway::start().await;
        gateway.upstream.respond(match (provider, stream) {
            ("ant", false) => MockResponse::json(200, MESSAGES),
            ("ant", true) => MockResponse::sse(MESSAGES_STREAM).in_chunks(50),
            (_, false) => MockResponse::json(200, CHAT),
            (_, true) => MockResponse::sse(CHAT_STREAM).in_chunks(50),
        });
        let request = question(client, &format!("{provider}/m1"), stream).to_string();
        gateway.post(path(client), request).await;
        let sums = sums(&gateway, "").await;
        let expected = json!([{
            "object": "usage", "model": format!("{provider}/m1"), "requests": 1, "errors": 0,
            "input_tokens": 30, "output_tokens": 10,
            "cache_read_tokens": 0, "cache_write_tokens": 0,
            "cost": 0.0, "requests_without_price": 1, "requests_estimated": 0, "sandbox_ms": 0,
        }]);
        assert_eq!(json!(sums), expected, "{client:?} {provider} {stream}");
    }
}

#[tokio::test]
async fn cost_follows_the_configured_price() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, MESSAGES));
    for client in [ClientDialect::Messages, ClientDialect::Chat] {
        let request = question(client, "small", false).to_string();
        gateway.post(path(client), request).await;
    }
    let sums = sums(&gateway, "by=provider").await;
    assert_eq!(sums.len(), 1);
    assert_eq!(sums[0]["provider"], "ant");
    assert_eq!(sums[0]["cost"], 0.00048);
    assert_eq!(sums[0]["requests_without_price"], 0);
}

#[tokio::test]
async fn a_stream_without_counts_is_estimated_and_marked_so() {
    let gateway = Gateway::start().await;
    let stream = CHAT_STREAM.replace("\"usage\":", "\"unused\":");
    gateway.upstream.respond(MockResponse::sse(&stream));
    let request = question(ClientDialect::Chat, "oai/m1", true).to_string();
    gateway.post("/v1/chat/completions", request.clone()).await;
    let sums = sums(&gateway, "").await;
    assert_eq!(sums[0]["requests_estimated"], 1);
    assert_eq!(sums[0]["input_tokens"], request.len() / 4);
    assert_eq!(sums[0]["output_tokens"], 6);
}

#[tokio::test]
async fn failures_are_counted_with_their_status() {
    let gateway = Gateway::start().await;
    gateway.upstream.respond_always(MockResponse::json(
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#,
    ));
    for model in ["ant/m1", "nobody"] {
        let request = question(ClientDialect::Messages, model, false).to_string();
        gateway.post("/v1/messages", request).await;
    }
    let request = question(ClientDialect::Chat, "stage/hero", true).to_string();
    let request = request.replace("Weather in Bern?", "break");
    gateway.post("/v1/chat/completions", request).await;
    let sums = sums(&gateway, "by=model").await;
    let counts: Vec<_> = sums
        .iter()
        .map(|sum| (sum["model"].as_str().unwrap(), sum["errors"].as_u64()))
        .collect();
    assert_eq!(
        counts,
        [
            ("(unknown)", Some(1)),
            ("ant/m1", Some(1)),
            ("stage/hero", Some(1))
        ]
    );
}

#[tokio::test]
async fn names_of_models_that_nobody_may_use_are_not_written_down() {
    let gateway = Gateway::start().await;
    let limits = KeyLimits {
        models: vec!["stage/*".to_owned()],
        ..KeyLimits::default()
    };
    let limited = gateway.key("default", KeyScope::Use, &limits).await;
    let any = KeyLimits::default();
    let unlimited = gateway.key("default", KeyScope::Use, &any).await;
    for number in 0..20 {
        for (key, model, status) in [
            (&limited, "ant/secret", 403),
            (&limited, "nobody", 403),
            (&unlimited, "nobody", 404),
        ] {
            let model = format!("{model}{number}");
            let request = question(ClientDialect::Chat, &model, false).to_string();
            let headers = [("x-api-key", key.as_str())];
            let answer = gateway
                .send("/v1/chat/completions", &headers, request)
                .await;
            assert_eq!(answer.status, status, "{}", answer.text());
        }
    }
    let sums = sums(&gateway, "by=model").await;
    assert_eq!(sums.len(), 1, "{sums:?}");
    assert_eq!(sums[0]["model"], "(unknown)");
    assert_eq!(sums[0]["requests"], 60);
}

#[tokio::test]
async fn any_number_of_names_that_lead_to_a_provider_is_counted_in_full() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, MESSAGES));
    for number in 0..300 {
        let request =
            question(ClientDialect::Messages, &format!("ant/m{number}"), false).to_string();
        let answer = gateway.post("/v1/messages", request).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let sums = sums(&gateway, "by=provider").await;
    let found = |field: &str| {
        sums.iter()
            .filter_map(|sum| sum[field].as_u64())
            .sum::<u64>()
    };
    assert_eq!(found("requests"), 300);
    assert_eq!(found("input_tokens"), 30 * 300);
}

#[tokio::test]
async fn usage_is_for_admins_and_of_their_own_tenant() {
    let gateway = Gateway::start().await;
    let none = KeyLimits::default();
    for tenant in ["one", "two"] {
        let key = gateway.key(tenant, KeyScope::Use, &none).await;
        let request = question(ClientDialect::Chat, "stage/hero", false).to_string();
        let headers = [("x-api-key", key.as_str())];
        gateway
            .send("/v1/chat/completions", &headers, request)
            .await;
        assert_eq!(gateway.get("/v1/usage", &headers).await.status, 403);
    }
    assert_eq!(sums(&gateway, "by=tenant").await.len(), 2);
    assert_eq!(sums(&gateway, "by=tenant&tenant=one").await.len(), 1);
    let admin = gateway.key("one", KeyScope::Admin, &none).await;
    let headers = [("x-api-key", admin.as_str())];
    let list = gateway
        .get("/v1/usage?by=tenant&tenant=two", &headers)
        .await;
    assert_eq!(list.json()["data"][0]["tenant"], "one");
    for bad in [
        "by=colour",
        "since=yesterday",
        "limit=5",
        "by=model&limit=5",
        "by=skill&limit=0",
        "by=skill&limit=1001",
        "by=skill&limit=",
    ] {
        let answer = gateway.get(&format!("/v1/usage?{bad}"), &[]).await;
        assert_eq!(answer.status, 400, "{bad}");
    }
}
