//! Keys are never printed, whatever happens.

mod common;

use common::*;
use prowess_provider::config::{
    AwsKeys, BedrockOptions, Config, GeminiOptions, Kind, ModelConfig, ProviderConfig,
};
use prowess_provider::{Caller, Env, KeySource, Providers, Secret, Task};
use prowess_testkit::upstream::{Answer, Upstream};
use prowess_wire::Client;

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
            "{what} tells {secret}: {printed}"
        );
    }
}

fn config(url: &str) -> Config {
    let aws = Kind::Bedrock(BedrockOptions {
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
    Config {
        providers: vec![
            anthropic,
            ProviderConfig::new("aws", aws).at(url),
            ProviderConfig::new("g", Kind::Gemini(GeminiOptions::default()))
                .at(url)
                .key("env:THE_KEY"),
        ],
        models: vec![ModelConfig::new("m", "ant").or_else(["aws/x", "g/x"])],
        env: Env::of([("THE_KEY", "env-secret-1234")]),
        ..Config::default()
    }
}

#[tokio::test]
async fn keys_are_in_no_debug_output_and_in_no_error() {
    let upstream = Upstream::start().await;
    let config = config(upstream.url());
    check("the configuration", &format!("{config:?}"));
    let providers = Providers::new(config).unwrap();
    check("the providers", &format!("{providers:?}"));
    let caller = Caller {
        key: Some(Secret::new("caller-secret-1234")),
        ..Caller::default()
    };
    check("the caller", &format!("{caller:?}"));
    let route = providers.route("m").unwrap();
    check("the route", &format!("{route:?}"));

    // Upstreams that repeat the key they were sent.
    for (status, model, key) in [
        (401, "ant/x", KEY),
        (400, "ant/x", KEY),
        (403, "g/x", "env-secret-1234"),
    ] {
        let telling = format!(r#"{{"detail":"what is {key}?"}}"#);
        upstream.answer(Answer::json(status, &telling));
        let route = providers.route(model).unwrap();
        let error = route.call(&hello(false), &caller).await.unwrap_err();
        let printed = format!("{error} {error:?} {:?}", error.to_api_error());
        assert!(printed.contains("what is [redacted]"), "{printed}");
        check(model, &printed);
    }
    let telling = |key: &str| {
        format!(r#"{{"type":"error","error":{{"type":"authentication_error","message":"{key}"}}}}"#)
    };
    upstream.answer(Answer::json(401, &telling(KEY)));
    let route = providers.route("ant/x").unwrap();
    let body = r#"{"model":"x"}"#;
    let answer = forward(&route, Client::Messages, Task::Generate, body, &caller).await;
    let (bytes, _) = drain(passed(answer.unwrap()).body).await;
    assert_eq!(bytes, telling("[redacted]").as_bytes());
}

#[tokio::test]
async fn a_usual_key_does_not_go_to_a_foreign_address() {
    let upstream = Upstream::start().await;
    let kind = Kind::Anthropic(Default::default());
    let providers = Providers::new(Config {
        providers: vec![ProviderConfig::new("mine", kind).at(upstream.url())],
        env: Env::of([("ANTHROPIC_API_KEY", "env-secret-1234")]),
        ..Config::default()
    })
    .unwrap();
    let route = providers.route("mine/x").unwrap();
    let error = call(&route, &hello(false)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "mine has no key: write api_key in its configuration"
    );
    assert_eq!(error.to_api_error().status, 401);
    assert!(upstream.requests().await.is_empty());
}
