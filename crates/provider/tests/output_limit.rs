//! What a model that must be told a limit gets when its client names none.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use common::*;
use prowess_provider::config::{ModelConfig, ProvidersConfig, WriteOverrides};
use prowess_provider::{Env, Providers};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::neutral::Message;

/// The limit that a model is sent for a request without one.
async fn limit(providers: &Providers, upstream: &MockUpstream, model: &str, text: &str) -> u64 {
    let mut request = hello(false);
    request.max_tokens = None;
    request.messages = vec![Message::user(text)];
    let route = providers.route(model).unwrap();
    call(&route, &request).await.unwrap();
    let sent = upstream.next_request().await;
    let body: serde_json::Value = serde_json::from_str(sent.text()).unwrap();
    body.get("max_tokens").unwrap().as_u64().unwrap()
}

#[tokio::test]
async fn it_is_what_the_model_can_write_and_never_more() {
    let upstream = MockUpstream::start().await;
    upstream.respond_always(MockResponse::json(200, MESSAGES_RESPONSE));
    let own = providers([anthropic(upstream.url())]);
    for (model, expected) in [
        ("ant/claude-3-haiku-20240307", 4_096),
        ("ant/claude-opus-4-1", 32_000),
        ("ant/claude-sonnet-4-5-20250929", 64_000),
        ("ant/claude-opus-4-6", 128_000),
        // Nothing is known of it.
        ("ant/m1", 8_192),
    ] {
        let sent = limit(&own, &upstream, model, "Hello").await;
        assert_eq!(sent, expected, "{model}");
    }
    // A context of 200,000 tokens has to hold the input as well.
    let long = "word ".repeat(120_000);
    for (model, expected) in [
        ("ant/claude-3-haiku-20240307", 4_096),
        ("ant/claude-sonnet-4-5-20250929", 8_192),
        ("ant/claude-opus-4-6", 128_000),
    ] {
        let sent = limit(&own, &upstream, model, &long).await;
        assert_eq!(sent, expected, "{model}");
    }
}

#[tokio::test]
async fn a_configured_one_holds_as_far_as_the_model_can_write() {
    let upstream = MockUpstream::start().await;
    upstream.respond_always(MockResponse::json(200, MESSAGES_RESPONSE));
    let configured = Providers::new(ProvidersConfig {
        providers: vec![anthropic(upstream.url())],
        models: vec![ModelConfig {
            write_overrides: WriteOverrides {
                default_max_tokens: Some(20_000),
                ..WriteOverrides::default()
            },
            ..ModelConfig::new("claude-*", "ant")
        }],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    });
    let configured = configured.unwrap();
    for (model, expected) in [
        ("claude-3-haiku-20240307", 4_096),
        ("claude-sonnet-4-5", 20_000),
        ("claude-of-tomorrow", 20_000),
    ] {
        let sent = limit(&configured, &upstream, model, "Hello").await;
        assert_eq!(sent, expected, "{model}");
    }
}
