//! Azure AI: Claude at Anthropic's path, other models at OpenAI's, with keys and tokens.

use prowess_provider::config::{
    AzureAiApi, AzureAiOptions, ProviderConfig, ProviderKind, ProvidersConfig,
};
use prowess_provider::{ClientCredentials, Env, KeySource, ModelTask, Providers, Route};
use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};
use prowess_wire::ClientDialect;

use crate::common::*;

fn config(upstream: &MockUpstream, options: AzureAiOptions) -> ProviderConfig {
    ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new("foundry", ProviderKind::new(options))
            .with_base_url(format!("{}/openai/v1", upstream.url()))
            .with_api_key(KEY)
    }
}

fn route(config: ProviderConfig, model: &str) -> Route {
    let name = format!("foundry/{model}");
    providers([config]).route(&name).unwrap()
}

/// Both APIs, and the service that gives tokens.
async fn foundry() -> MockUpstream {
    let upstream = MockUpstream::start().await;
    upstream.respond_with(|request: &ReceivedRequest| {
        let answer = match request.path.as_str() {
            "/anthropic/v1/messages" => MESSAGES_RESPONSE,
            "/anthropic/v1/messages/count_tokens" => r#"{"input_tokens":7}"#,
            "/t1/oauth2/v2.0/token" => {
                r#"{"access_token":"eyJ0.of-the-application.x","expires_in":3599}"#
            }
            _ => CHAT_RESPONSE,
        };
        MockResponse::json(200, answer)
    });
    upstream
}

/// Path, version and credentials.
fn described(request: &ReceivedRequest) -> String {
    let names = ["anthropic-version", "api-key", "x-api-key", "authorization"];
    let headers = names.iter().filter_map(|name| {
        let value = request.header(name)?;
        Some(format!(" {name}={value}"))
    });
    format!("{}{}", request.path, headers.collect::<String>())
}

#[tokio::test]
async fn claude_has_anthropics_api_and_all_other_models_openais() {
    let upstream = foundry().await;
    for (model, api, expected) in [
        (
            "claude-opus-4-5",
            AzureAiApi::Auto,
            "/anthropic/v1/messages anthropic-version=2023-06-01 api-key=sk-test-0123456789 \
             x-api-key=sk-test-0123456789",
        ),
        (
            "team-a",
            AzureAiApi::Anthropic,
            "/anthropic/v1/messages anthropic-version=2023-06-01 api-key=sk-test-0123456789 \
             x-api-key=sk-test-0123456789",
        ),
        (
            "mistral-large",
            AzureAiApi::Auto,
            "/openai/v1/chat/completions authorization=Bearer sk-test-0123456789",
        ),
        (
            "claude-of-a-proxy",
            AzureAiApi::OpenAi,
            "/openai/v1/chat/completions authorization=Bearer sk-test-0123456789",
        ),
    ] {
        let options = AzureAiOptions {
            api,
            ..AzureAiOptions::default()
        };
        let route = route(config(&upstream, options), model);
        whole(call(&route, &hello(false)).await.unwrap());
        let sent = upstream.next_request().await;
        assert_eq!(described(&sent), expected, "{model}");
        assert!(sent.text().contains(&format!("\"model\":\"{model}\"")));
    }
}

#[tokio::test]
async fn a_messages_client_is_passed_through_to_claude_and_its_tokens_are_counted() {
    let upstream = foundry().await;
    let options = AzureAiOptions::default();
    let route = route(config(&upstream, options), "claude-opus-4-5");
    let body = r#"{ "model":"claude-opus-4-5", "max_tokens":5,"messages":[]}"#;
    let client = ClientDialect::Messages;
    let credentials = ClientCredentials::default();
    let answer = forward(&route, client, ModelTask::Generate, body, &credentials).await;
    drain(passed(answer.unwrap()).body).await;
    assert_eq!(upstream.next_request().await.text(), body);
    let answer = forward(&route, client, ModelTask::CountTokens, body, &credentials).await;
    drain(passed(answer.unwrap()).body).await;
    let sent = upstream.next_request().await;
    assert_eq!(sent.path, "/anthropic/v1/messages/count_tokens");
    // No other dialect is.
    let target = &route.targets()[0];
    assert!(!target.supports_pass_through(ClientDialect::Chat, ModelTask::Generate));
}

#[tokio::test]
async fn an_application_gets_tokens_for_both_apis() {
    let upstream = foundry().await;
    let options = AzureAiOptions {
        tenant_id: Some("t1".to_owned()),
        client_id: Some("c1".to_owned()),
        client_secret: Some(KeySource::parse("secret-1")),
        ..AzureAiOptions::default()
    };
    let provider = ProviderConfig {
        api_key: None,
        ..config(&upstream, options)
    };
    let providers = Providers::new(ProvidersConfig {
        providers: vec![provider],
        env: Env::from_pairs([("AZURE_AUTHORITY_HOST", upstream.url())]),
        ..ProvidersConfig::default()
    })
    .unwrap();
    for (model, expected) in [
        (
            "claude-opus-4-5",
            "/anthropic/v1/messages anthropic-version=2023-06-01 \
             authorization=Bearer eyJ0.of-the-application.x",
        ),
        (
            "mistral-large",
            "/openai/v1/chat/completions authorization=Bearer eyJ0.of-the-application.x",
        ),
    ] {
        let route = providers.route(&format!("foundry/{model}")).unwrap();
        whole(call(&route, &hello(false)).await.unwrap());
        let sent = upstream.requests().await;
        let called = sent.last().map(described);
        assert_eq!(called.as_deref(), Some(expected), "{model}");
    }
}
