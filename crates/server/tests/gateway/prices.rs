//! What responses cost besides their tokens, and what changes the price of these, in whatever way
//! a response comes.

use prowess_provider::config::{
    AzureOptions, LongPrice, ModelConfig, OpenAiOptions, Price, ProviderConfig, ProviderKind,
    ProvidersConfig, SpecialPrices,
};
use prowess_provider::known_models::BaseModel;
use prowess_provider::{Env, Providers};
use prowess_server::ServerSettings;
use prowess_store::{BudgetPeriod, KeyBudget, KeyLimits, KeyScope};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::{CHAT, CHAT_STREAM, MESSAGES, MESSAGES_STREAM, question};
use crate::gateway::{Gateway, KEY, path};
use crate::runs::{load, model_response, request_naming, stored};

const CLAUDE: &str = "ant/claude-sonnet-4-6";

/// The usage of all requests so far.
async fn usage(gateway: &Gateway) -> Value {
    gateway.app.flush().await;
    let answer = gateway.get("/v1/usage?by=tenant", &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"][0].clone()
}

/// A response of Anthropic's with this usage, whole or streamed.
fn claude(usage: &Value, stream: bool) -> MockResponse {
    if !stream {
        let mut body: Value = serde_json::from_str(MESSAGES).unwrap();
        body["usage"] = usage.clone();
        return MockResponse::json(200, &body.to_string());
    }
    // What the servers did for it is counted at the end.
    let (mut first, mut last) = (
        usage.clone(),
        json!({"output_tokens": usage["output_tokens"]}),
    );
    first["output_tokens"] = json!(1);
    for late in ["server_tool_use", "iterations"] {
        if let Some(value) = first.as_object_mut().unwrap().remove(late) {
            last[late] = value;
        }
    }
    let text = MESSAGES_STREAM
        .replace(
            r#"{"input_tokens":30,"output_tokens":1}"#,
            &first.to_string(),
        )
        .replace(r#"{"output_tokens":10}"#, &last.to_string());
    MockResponse::sse(&text).in_chunks(50)
}

/// Passed through and translated, whole and streamed.
const WAYS: [(ClientDialect, bool); 4] = [
    (ClientDialect::Messages, false),
    (ClientDialect::Messages, true),
    (ClientDialect::Chat, false),
    (ClientDialect::Chat, true),
];

/// 1,000 tokens of input and 100 of output, 10,000 read from a cache, 1,600 written to it for five
/// minutes and 400 for an hour, and three searches: 0.003 + 0.0015 + 0.003 + 0.006 + 0.0024 + 0.03.
fn cached_and_searched() -> Value {
    json!({
        "input_tokens": 1_000, "output_tokens": 100,
        "cache_read_input_tokens": 10_000, "cache_creation_input_tokens": 2_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 1_600, "ephemeral_1h_input_tokens": 400},
        "server_tool_use": {"web_search_requests": 3, "web_fetch_requests": 9},
        "service_tier": "standard",
    })
}

#[tokio::test]
async fn input_that_a_cache_holds_for_an_hour_and_searches_have_their_price() {
    for (client, stream) in WAYS {
        let gateway = Gateway::start().await;
        gateway
            .upstream
            .respond(claude(&cached_and_searched(), stream));
        let request = question(client, CLAUDE, stream).to_string();
        let answer = gateway.post(path(client), request).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let usage = usage(&gateway).await;
        assert_eq!(usage["cost"], 0.0459, "{client:?} {stream}: {usage}");
        assert_eq!(usage["cache_write_tokens"], 2_000, "{usage}");
        assert_eq!(usage["input_tokens"], 1_000, "{usage}");
    }
}

#[tokio::test]
async fn a_budget_is_charged_what_the_vendor_charges() {
    for stream in [false, true] {
        let gateway = Gateway::start().await;
        gateway
            .upstream
            .respond_always(claude(&cached_and_searched(), stream));
        let limits = KeyLimits {
            budget: Some(KeyBudget {
                // More than the tokens cost without the searches.
                nanos: 40_000_000,
                period: BudgetPeriod::Ever,
            }),
            ..KeyLimits::default()
        };
        let key = gateway.key("default", KeyScope::Use, &limits).await;
        let headers = [("x-api-key", key.as_str())];
        let request = question(ClientDialect::Messages, CLAUDE, stream).to_string();
        let answer = gateway
            .send("/v1/messages", &headers, request.clone())
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let refused = gateway.send("/v1/messages", &headers, request).await;
        assert_eq!(refused.status, 429, "{stream}: {}", refused.text());
    }
}

#[tokio::test]
async fn tokens_of_an_advisor_cost_what_its_model_does_and_are_not_the_models_own() {
    let iterations = json!([
        {"type": "message", "input_tokens": 1_000, "output_tokens": 100},
        {"type": "advisor_message", "model": "claude-opus-4-6",
            "input_tokens": 2_000, "output_tokens": 200},
    ]);
    let counts = json!({"input_tokens": 1_000, "output_tokens": 100, "iterations": iterations});
    for (client, stream) in WAYS {
        let gateway = Gateway::start().await;
        gateway.upstream.respond(claude(&counts, stream));
        let request = question(client, CLAUDE, stream).to_string();
        gateway.post(path(client), request).await;
        let usage = usage(&gateway).await;
        // 0.003 + 0.0015, and 0.01 + 0.005.
        assert_eq!(usage["cost"], 0.0195, "{client:?} {stream}: {usage}");
        assert_eq!(usage["input_tokens"], 1_000, "{usage}");
        assert_eq!(usage["output_tokens"], 100, "{usage}");
    }
}

#[tokio::test]
async fn the_fast_mode_and_servers_in_one_country_have_their_price() {
    let counts = json!({"input_tokens": 1_000, "output_tokens": 100, "speed": "fast",
        "inference_geo": "us"});
    for (client, stream) in WAYS {
        let gateway = Gateway::start().await;
        gateway.upstream.respond(claude(&counts, stream));
        let request = question(client, "ant/claude-opus-4-6", stream).to_string();
        gateway.post(path(client), request).await;
        let usage = usage(&gateway).await;
        // 6.6 times 0.005 + 0.0025.
        assert_eq!(usage["cost"], 0.0495, "{client:?} {stream}: {usage}");
    }
}

/// The model `priced` of OpenAI's APIs, with this price.
async fn openai_gateway(responses: bool, price: Price) -> Gateway {
    let gateway = Gateway::start().await;
    let kind = ProviderKind::new(OpenAiOptions {
        responses: Some(responses),
    });
    let provider = ProviderConfig::new("open", kind)
        .with_base_url(format!("{}/v1", gateway.upstream.url()))
        .with_api_key(KEY);
    let providers = Providers::new(ProvidersConfig {
        providers: vec![provider],
        models: vec![ModelConfig {
            price: Some(price),
            ..ModelConfig::new("priced", "open").with_upstream_model("m1")
        }],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    });
    gateway
        .beside(ServerSettings {
            providers: Some(providers.unwrap()),
            ..ServerSettings::default()
        })
        .await
}

/// The model `chat`: a deployment on Azure whose own name says nothing.
async fn azure_gateway(base_model: &str, price: Option<Price>) -> Gateway {
    let gateway = Gateway::start().await;
    let provider = ProviderConfig::new("azure", ProviderKind::new(AzureOptions::default()))
        .with_base_url(gateway.upstream.url())
        .with_api_key(KEY);
    let providers = Providers::new(ProvidersConfig {
        providers: vec![provider],
        models: vec![ModelConfig {
            base_model: Some(BaseModel::find("azure", "azure", base_model).unwrap()),
            price,
            ..ModelConfig::new("chat", "azure").with_upstream_model("prod-chat")
        }],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    });
    gateway
        .beside(ServerSettings {
            providers: Some(providers.unwrap()),
            ..ServerSettings::default()
        })
        .await
}

fn price() -> Price {
    Price {
        input: 1.0,
        output: 2.0,
        web_search: Some(10.0),
        ..Price::default()
    }
}

#[tokio::test]
async fn a_service_tier_changes_the_price_of_tokens() {
    for (tier, cost) in [
        ("flex", 0.000_025),
        ("default", 0.000_05),
        ("priority", 0.0001),
    ] {
        for client in [ClientDialect::Chat, ClientDialect::Messages] {
            for stream in [false, true] {
                let special = SpecialPrices {
                    priority: Some(2.0),
                    ..SpecialPrices::default()
                };
                let price = Price {
                    special: Some(Box::new(special)),
                    ..price()
                };
                let gateway = openai_gateway(false, price).await;
                let with_tier = |body: &str| {
                    body.replace(
                        "\"created\":1,",
                        &format!("\"created\":1,\"service_tier\":\"{tier}\","),
                    )
                };
                gateway.upstream.respond(match stream {
                    false => MockResponse::json(200, &with_tier(CHAT)),
                    true => MockResponse::sse(&with_tier(CHAT_STREAM)).in_chunks(50),
                });
                let request = question(client, "priced", stream).to_string();
                let answer = gateway.post(path(client), request).await;
                assert_eq!(answer.status, 200, "{}", answer.text());
                // 30 tokens of input and 10 of output.
                let usage = usage(&gateway).await;
                assert_eq!(usage["cost"], cost, "{tier} {client:?} {stream}: {usage}");
            }
        }
    }
}

#[tokio::test]
async fn a_deployment_of_any_name_costs_what_its_base_model_does() {
    let in_tier = |body: &str| {
        let tier = "\"created\":1,\"service_tier\":\"priority\",";
        body.replace("\"created\":1,", tier)
    };
    // 30 tokens of input and 10 of output: of GPT-5.1 with twice its price in this tier; its own
    // price has none for it.
    for (own, cost) in [(None, 0.000_275), (Some(price()), 0.000_05)] {
        for client in [ClientDialect::Chat, ClientDialect::Messages] {
            for stream in [false, true] {
                let gateway = azure_gateway("gpt-5.1", own.clone()).await;
                gateway.upstream.respond(match stream {
                    false => MockResponse::json(200, &in_tier(CHAT)),
                    true => MockResponse::sse(&in_tier(CHAT_STREAM)).in_chunks(50),
                });
                let request = question(client, "chat", stream).to_string();
                let answer = gateway.post(path(client), request).await;
                assert_eq!(answer.status, 200, "{}", answer.text());
                let usage = usage(&gateway).await;
                assert_eq!(usage["cost"], cost, "{client:?} {stream}: {usage}");
            }
        }
    }
    // A long input, at the prices of GPT-5.4 for it: 1.5 + 0.000225.
    let gateway = azure_gateway("openai/gpt-5.4", None).await;
    let long = CHAT.replace("\"prompt_tokens\":30", "\"prompt_tokens\":300000");
    gateway.upstream.respond(MockResponse::json(200, &long));
    let request = question(ClientDialect::Chat, "chat", false).to_string();
    gateway.post(path(ClientDialect::Chat), request).await;
    let usage = usage(&gateway).await;
    assert_eq!(usage["cost"], 1.500_225, "{usage}");
}

#[tokio::test]
async fn searches_of_openais_servers_have_their_price() {
    let search = |action: &str| {
        json!({"id": format!("ws_{action}"), "type": "web_search_call", "status": "completed",
            "action": {"type": action, "query": "bern"}})
    };
    let text = json!({"id": "msg_1", "type": "message", "role": "assistant",
        "status": "completed", "content": [{"type": "output_text", "text": "Sunny.",
            "annotations": []}]});
    let output = json!([search("search"), search("open_page"), text]);
    let whole = json!({"id": "resp_1", "object": "response", "created_at": 1,
        "status": "completed", "model": "m1", "service_tier": "flex", "output": output,
        "usage": {"input_tokens": 1_000, "output_tokens": 100, "total_tokens": 1_100}});
    let mut events = vec![json!({"type": "response.created",
        "response": {"id": "resp_1", "model": "m1", "service_tier": "auto", "output": []}})];
    for (index, item) in output.as_array().unwrap().iter().enumerate() {
        for kind in ["added", "done"] {
            let kind = format!("response.output_item.{kind}");
            events.push(json!({"type": kind, "output_index": index, "item": item}));
        }
    }
    events.push(json!({"type": "response.completed", "response": whole}));
    let streamed: String = events
        .iter()
        .map(|event| {
            format!(
                "event: {}\ndata: {event}\n\n",
                event["type"].as_str().unwrap()
            )
        })
        .collect();
    for stream in [false, true] {
        let gateway = openai_gateway(true, price()).await;
        gateway.upstream.respond(match stream {
            false => MockResponse::json(200, &whole.to_string()),
            true => MockResponse::sse(&streamed).in_chunks(70),
        });
        let request = question(ClientDialect::Responses, "priced", stream).to_string();
        let answer = gateway.post("/v1/responses", request).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        // Half of 0.001 + 0.0002, and one search.
        let usage = usage(&gateway).await;
        assert_eq!(usage["cost"], 0.0106, "{stream}: {usage}");
    }
}

#[tokio::test]
async fn grounding_and_long_inputs_of_gemini_have_their_price() {
    let body = json!({
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Sunny."}]},
            "finishReason": "STOP", "index": 0,
            "groundingMetadata": {"webSearchQueries": ["weather", "bern"]}}],
        "usageMetadata": {"promptTokenCount": 300_000, "candidatesTokenCount": 100,
            "cachedContentTokenCount": 100_000, "totalTokenCount": 300_100},
        "modelVersion": "gemini-2.5-pro",
    });
    for client in [ClientDialect::Gemini, ClientDialect::Messages] {
        for stream in [false, true] {
            let gateway = Gateway::start().await;
            gateway.upstream.respond(match stream {
                false => MockResponse::json(200, &body.to_string()),
                true => MockResponse::sse(&format!("data: {body}\r\n\r\n")).in_chunks(70),
            });
            let request = question(client, "gem/gemini-2.5-pro", stream).to_string();
            let path = match (client, stream) {
                (ClientDialect::Gemini, false) => {
                    "/v1beta/models/gem/gemini-2.5-pro:generateContent"
                }
                (ClientDialect::Gemini, true) => {
                    "/v1beta/models/gem/gemini-2.5-pro:streamGenerateContent?alt=sse"
                }
                _ => "/v1/messages",
            };
            let answer = gateway.post(path, request).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            // 0.5 + 0.025 + 0.0015, and one request that searched.
            let usage = usage(&gateway).await;
            assert_eq!(usage["cost"], 0.5615, "{client:?} {stream}: {usage}");
        }
    }
}

#[tokio::test]
async fn each_turn_of_a_run_has_its_own_price_and_skills_and_no_skill_are_the_cost() {
    let special = SpecialPrices {
        long: Some(LongPrice {
            above: 50,
            input: 100.0,
            output: 100.0,
            ..LongPrice::default()
        }),
        ..SpecialPrices::default()
    };
    let price = Price {
        special: Some(Box::new(special)),
        ..price()
    };
    let gateway = openai_gateway(false, price).await;
    let skill = stored(&gateway).await;
    // Two turns of 30 tokens of input: neither is long. A run is no request.
    gateway
        .upstream
        .respond(model_response("open/m1", false, "Let me see.", &load()))
        .respond(model_response("open/m1", false, "Done.", &[]));
    let request = request_naming(ClientDialect::Messages, "priced", &skill, false);
    let answer = gateway.post("/v1/messages", request.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let all = usage(&gateway).await;
    assert_eq!(all["input_tokens"], 60, "{all}");
    assert_eq!(all["cost"], 0.0001, "{all}");
    let by_skill = gateway.get("/v1/usage?by=skill", &[]).await.json();
    let rows = by_skill["data"].as_array().unwrap().iter();
    let nanos = |row: &Value| (row["cost"].as_f64().unwrap_or_default() * 1e9).round();
    let sum: f64 = rows.map(nanos).sum();
    assert_eq!(sum, nanos(&by_skill["total"]), "{by_skill}");
    assert_eq!(sum, 100_000.0, "{by_skill}");
}

#[tokio::test]
async fn input_that_is_found_in_a_cache_after_the_start_is_counted_once() {
    let gateway = Gateway::start().await;
    let text = MESSAGES_STREAM
        .replace("\"input_tokens\":30", "\"input_tokens\":90")
        .replace(
            r#"{"output_tokens":10}"#,
            r#"{"input_tokens":20,"cache_read_input_tokens":70,"output_tokens":10}"#,
        );
    gateway.upstream.respond(MockResponse::sse(&text));
    let request = question(ClientDialect::Chat, "small", true).to_string();
    gateway.post("/v1/chat/completions", request).await;
    let usage = usage(&gateway).await;
    assert_eq!(usage["input_tokens"], 20, "{usage}");
    assert_eq!(usage["cache_read_tokens"], 70, "{usage}");
}
