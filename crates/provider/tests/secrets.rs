//! Keys are never printed, whatever happens.

mod common;

use common::*;
use prowess_provider::config::{
    AnthropicOptions, AwsKeys, BedrockOptions, GeminiOptions, ModelConfig, ProviderConfig,
    ProviderKind, ProvidersConfig,
};
use prowess_provider::{ClientCredentials, Env, KeySource, ModelTask, Providers, SecretText};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;

const SECRETS: [&str; 5] = [
    KEY,
    "env-secret-1234",
    "header-secret-1234",
    "aws-secret-1234",
    "caller-secret-1234",
];

fn check(what: &str, printed: &str) {
    for secret in SECRETS {
        assert!(
            !printed.contains(secret),
            "{what} reveals {secret}: {printed}"
        );
    }
}

fn config(url: &str) -> ProvidersConfig {
    let aws = ProviderKind::new(BedrockOptions {
        region: Some("r".to_owned()),
        keys: Some(AwsKeys {
            access_key_id: KeySource::parse("AK"),
            secret_access_key: KeySource::parse("aws-secret-1234"),
            session_token: None,
        }),
        ..BedrockOptions::default()
    });
    let mut anthropic = anthropic(url);
    anthropic.headers = vec![("x-extra".to_owned(), KeySource::parse("header-secret-1234"))];
    ProvidersConfig {
        providers: vec![
            anthropic,
            ProviderConfig::new("aws", aws).with_base_url(url),
            ProviderConfig::new("g", ProviderKind::new(GeminiOptions::default()))
                .with_base_url(url)
                .with_api_key("env:THE_KEY"),
        ],
        models: vec![ModelConfig::new("m", "ant").with_fallbacks(["aws/x", "g/x"])],
        env: Env::from_pairs([("THE_KEY", "env-secret-1234")]),
        ..ProvidersConfig::default()
    }
}

#[tokio::test]
async fn keys_are_in_no_debug_output_and_in_no_error() {
    let upstream = MockUpstream::start().await;
    let config = config(upstream.url());
    check("the configuration", &format!("{config:?}"));
    let providers = Providers::new(config).unwrap();
    check("the providers", &format!("{providers:?}"));
    let credentials = ClientCredentials {
        key: Some(SecretText::new("caller-secret-1234")),
        ..ClientCredentials::default()
    };
    check("the caller", &format!("{credentials:?}"));
    let route = providers.route("m").unwrap();
    check("the route", &format!("{route:?}"));

    // Upstreams that repeat the key they received.
    for (status, model, key) in [
        (401, "ant/x", KEY),
        (400, "ant/x", KEY),
        (403, "g/x", "env-secret-1234"),
    ] {
        let body_with_key = format!(r#"{{"detail":"what is {key}?"}}"#);
        upstream.respond(MockResponse::json(status, &body_with_key));
        let route = providers.route(model).unwrap();
        let error = route.call(&hello(false), &credentials).await.unwrap_err();
        let printed = format!("{error} {error:?} {:?}", error.to_api_error());
        assert!(printed.contains("what is [redacted]"), "{printed}");
        check(model, &printed);
    }
    let error_with_key = |key: &str| {
        format!(r#"{{"type":"error","error":{{"type":"authentication_error","message":"{key}"}}}}"#)
    };
    upstream.respond(MockResponse::json(401, &error_with_key(KEY)));
    let route = providers.route("ant/x").unwrap();
    let body = r#"{"model":"x"}"#;
    let answer = forward(
        &route,
        ClientDialect::Messages,
        ModelTask::Generate,
        body,
        &credentials,
    )
    .await;
    let (bytes, _) = drain(passed(answer.unwrap()).body).await;
    assert_eq!(bytes, error_with_key("[redacted]").as_bytes());
}

#[tokio::test]
async fn a_key_that_an_upstream_repeats_in_a_header_ends_here() {
    let upstream = MockUpstream::start().await;
    let providers = Providers::new(config(upstream.url())).unwrap();
    let route = providers.route("ant/x").unwrap();
    let body = r#"{"type":"message","usage":{"input_tokens":1,"output_tokens":1}}"#;
    for status in [200, 401] {
        let response = MockResponse::json(status, body);
        let response = response.header("x-echo", KEY);
        upstream.respond(response.header("x-extra-echo", "header-secret-1234"));
        let answer = forward(
            &route,
            ClientDialect::Messages,
            ModelTask::Generate,
            r#"{"model":"x"}"#,
            &ClientCredentials::default(),
        )
        .await;
        match answer {
            Ok(answer) => {
                let answer = passed(answer);
                assert_eq!(answer.headers.get("x-echo").unwrap(), "[redacted]");
                check("the response", &format!("{:?}", answer.headers));
            }
            Err(error) => check("the error", &format!("{error:?}")),
        }
    }
}

#[tokio::test]
async fn a_well_known_key_does_not_go_to_another_address() {
    let upstream = MockUpstream::start().await;
    let kind = ProviderKind::new(AnthropicOptions::default());
    let providers = Providers::new(ProvidersConfig {
        providers: vec![ProviderConfig::new("mine", kind).with_base_url(upstream.url())],
        env: Env::from_pairs([("ANTHROPIC_API_KEY", "env-secret-1234")]),
        ..ProvidersConfig::default()
    })
    .unwrap();
    let route = providers.route("mine/x").unwrap();
    let error = call(&route, &hello(false)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "provider `mine` has no usable API key: set api_key in its configuration"
    );
    assert_eq!(error.to_api_error().status, 401);
    assert!(upstream.requests().await.is_empty());
}

#[tokio::test]
async fn a_client_sees_neither_where_a_key_is_kept_nor_the_ends_of_one() {
    let upstream = MockUpstream::start().await;
    let mut lost = anthropic(upstream.url());
    lost.api_key = Some(KeySource::parse("file:/nonexistent/secrets/key"));
    let error = call(&route_to(lost), &hello(false)).await.unwrap_err();
    assert!(error.to_string().contains("/nonexistent/secrets/key"));
    let shown = error.to_api_error().message;
    assert!(!shown.contains("nonexistent"), "{shown}");
    assert!(shown.contains("its file cannot be read"), "{shown}");

    let masked = r#"{"type":"error","error":{"type":"authentication_error","message":"wrong key: sk-t****6789"}}"#;
    upstream.respond(MockResponse::json(401, masked));
    let route = route_to(anthropic(upstream.url()));
    let error = call(&route, &hello(false)).await.unwrap_err();
    assert_eq!(error.to_api_error().message, "wrong key: [redacted]");
}
