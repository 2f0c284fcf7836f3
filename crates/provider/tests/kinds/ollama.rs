//! Ollama: an effort only for models that are known to accept one.

use prowess_provider::config::{ProviderConfig, ProviderKind};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::neutral::{Map, Thinking, ThinkingMode};
use serde_json::{Value, json};

use crate::common::*;

/// With an effort, Ollama answers 400 for a model that cannot think.
#[tokio::test]
async fn only_a_model_that_is_known_to_think_is_sent_an_effort() {
    let upstream = MockUpstream::start().await;
    upstream.respond_always(MockResponse::json(200, CHAT_RESPONSE));
    let kind = ProviderKind::from_name("ollama").unwrap();
    let config = ProviderConfig::new("local", kind).with_base_url(upstream.url());
    let all = providers([config]);
    for (model, mode, effort, sent, dropped) in [
        (
            "llama3.3",
            ThinkingMode::Adaptive,
            Some("high"),
            None,
            vec!["output_config.effort"],
        ),
        (
            "gpt-oss:20b",
            ThinkingMode::Adaptive,
            Some("xhigh"),
            Some("high"),
            vec![],
        ),
        (
            "qwen3:8b",
            ThinkingMode::Enabled {
                budget_tokens: 9000,
            },
            None,
            None,
            vec!["thinking"],
        ),
        (
            "qwen3:8b",
            ThinkingMode::Disabled,
            None,
            Some("none"),
            vec![],
        ),
    ] {
        let mut request = hello(false);
        request.effort = effort.map(str::to_owned);
        request.thinking = Some(Thinking {
            mode,
            rest: Map::new(),
        });
        let route = all.route(&format!("local/{model}")).unwrap();
        let reply = call(&route, &request).await.unwrap();
        let named: Vec<&str> = reply.dropped.iter().map(|d| d.field.as_str()).collect();
        assert_eq!(named, dropped, "{model}");
        let received = upstream.next_request().await;
        assert_eq!(received.path, "/v1/chat/completions");
        let body: Value = serde_json::from_str(received.text()).unwrap();
        let expected = sent.map(|effort| json!(effort));
        assert_eq!(body.get("reasoning_effort"), expected.as_ref(), "{model}");
    }
}
