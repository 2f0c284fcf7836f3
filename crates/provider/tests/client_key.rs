//! A client's own key goes to the provider that it is meant for, and to no other.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use std::time::Duration;

use bytes::Bytes;
use common::*;
use prowess_provider::config::{DeploymentConfig, ModelConfig, ProviderConfig, ProvidersConfig};
use prowess_provider::{
    ClientCredentials, EndpointBody, EndpointRequest, Env, ModelTask, Providers, Route, SecretText,
};
use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};
use prowess_wire::ClientDialect;
use prowess_wire::embeddings::read_embedding_request;

const OWN: &str = "sk-of-the-client-0123";
const DOWN: &str = r#"{"type":"error","error":{"type":"api_error","message":"down"}}"#;
const REFUSED: &str = r#"{"error":{"message":"wrong key","type":"authentication_error"}}"#;
const BODY: &str = r#"{"model":"safe","max_tokens":5,"messages":[]}"#;
const CHAT: &str = r#"{"model":"gpt","messages":[{"role":"user","content":"Hello"}]}"#;

fn own_key() -> ClientCredentials {
    ClientCredentials {
        key: Some(SecretText::new(OWN)),
        ..ClientCredentials::default()
    }
}

/// A provider that takes clients' keys and has none of its own.
fn open(name: &str, config: ProviderConfig) -> ProviderConfig {
    ProviderConfig {
        name: name.to_owned(),
        api_key: None,
        allow_client_key: true,
        ..config
    }
}

/// The same with a key of its own.
fn with_key(config: ProviderConfig) -> ProviderConfig {
    config.with_api_key(KEY)
}

/// A model of the first provider with the second as its fallback.
fn fallback_route(first: ProviderConfig, second: ProviderConfig) -> Route {
    let model = ModelConfig {
        fallbacks: vec![format!("{}/backup", second.name)],
        ..ModelConfig::new("safe", first.name.as_str()).with_upstream_model("m1")
    };
    route_of(vec![first, second], model)
}

fn route_of(providers: Vec<ProviderConfig>, model: ModelConfig) -> Route {
    let name = model.name.clone();
    let providers = Providers::new(ProvidersConfig {
        providers,
        models: vec![model],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    });
    providers.unwrap().route(&name).unwrap()
}

/// The keys that an upstream has received.
async fn keys(upstream: &MockUpstream) -> Vec<String> {
    let requests = upstream.requests().await;
    let key = |request: &ReceivedRequest| {
        let names = ["x-api-key", "authorization", "api-key", "x-goog-api-key"];
        let mut found = names.iter().filter_map(|name| request.header(name));
        found.next().unwrap_or("none").to_owned()
    };
    requests.iter().map(key).collect()
}

async fn two_upstreams() -> (MockUpstream, MockUpstream) {
    (MockUpstream::start().await, MockUpstream::start().await)
}

#[tokio::test]
async fn a_fallback_at_another_address_is_called_with_its_own_key() {
    let (first, second) = two_upstreams().await;
    first.respond_always(MockResponse::json(503, DOWN));
    second.respond_always(MockResponse::json(200, MESSAGES_RESPONSE));
    let route = fallback_route(
        open("one", anthropic(first.url())),
        with_key(open("two", anthropic(second.url()))),
    );
    let (client, task) = (ClientDialect::Messages, ModelTask::Generate);
    let answer = forward(&route, client, task, BODY, &own_key()).await;
    let header = answer.as_ref().unwrap().decision().unwrap().header_value();
    assert!(
        header.ends_with("attempt=2; reason=fallback:503"),
        "{header}"
    );
    drain(passed(answer.unwrap()).body).await;
    assert_eq!(keys(&first).await, [OWN; 3]);
    assert_eq!(keys(&second).await, [KEY]);

    whole(route.call(&hello(false), &own_key()).await.unwrap());
    assert_eq!(keys(&first).await, [OWN; 3]);
    assert_eq!(keys(&second).await, [KEY]);
}

#[tokio::test]
async fn a_fallback_without_a_key_of_its_own_is_passed_over() {
    let (first, second) = two_upstreams().await;
    first.respond_always(MockResponse::json(503, DOWN));
    second.respond_always(MockResponse::json(200, MESSAGES_RESPONSE));
    let route = fallback_route(
        open("one", anthropic(first.url())),
        open("two", anthropic(second.url())),
    );
    let (client, task) = (ClientDialect::Messages, ModelTask::Generate);
    let answer = forward(&route, client, task, BODY, &own_key()).await;
    // The client gets the error of the model that was called.
    let answer = passed(answer.unwrap());
    assert_eq!(answer.status, 503);
    drain(answer.body).await;
    let error = route.call(&hello(false), &own_key()).await.unwrap_err();
    assert_eq!(error.to_api_error().status, 503);
    let error = route.count(&hello(false), &own_key()).await.unwrap_err();
    assert_eq!(error.to_api_error().status, 503);
    assert!(second.requests().await.is_empty());
    assert!(keys(&first).await.iter().all(|key| key == OWN));
}

#[tokio::test]
async fn a_fallback_of_the_same_kind_at_the_same_address_gets_the_key() {
    let upstream = MockUpstream::start().await;
    upstream.respond_always(MockResponse::json(200, MESSAGES_RESPONSE));
    let busy = r#"{"type":"error","error":{"type":"rate_limit_error","message":"later"}}"#;
    for _ in 0..3 {
        upstream.respond(MockResponse::json(429, busy));
    }
    let route = fallback_route(
        open("one", anthropic(upstream.url())),
        open("two", anthropic(&format!("{}/", upstream.url()))),
    );
    whole(route.call(&hello(false), &own_key()).await.unwrap());
    assert_eq!(keys(&upstream).await, [OWN; 4]);

    // Another kind at the same address is another vendor's API.
    for _ in 0..3 {
        upstream.respond(MockResponse::json(429, busy));
    }
    let route = fallback_route(
        open("one", anthropic(upstream.url())),
        open("two", openai(upstream.url())),
    );
    route.call(&hello(false), &own_key()).await.unwrap_err();
    assert_eq!(keys(&upstream).await, [OWN; 3]);
}

#[tokio::test]
async fn embeddings_and_other_endpoints_keep_to_it_too() {
    let (first, second) = two_upstreams().await;
    first.respond_always(MockResponse::json(503, REFUSED));
    let embedded = r#"{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1.0]}],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}"#;
    second.respond_always(MockResponse::json(200, embedded));
    let body = r#"{"model":"safe","input":["Hello"]}"#;
    let image = || EndpointRequest {
        endpoint: "images/generations",
        body: EndpointBody::json(Bytes::from_static(br#"{"model":"safe","prompt":"A cat"}"#)),
    };
    for has_key in [false, true] {
        let backup = open("two", openai(second.url()));
        let backup = if has_key { with_key(backup) } else { backup };
        let route = fallback_route(open("one", openai(first.url())), backup);
        let request = read_embedding_request(body.as_bytes()).unwrap();
        let vectors = route.embed(&request, &own_key()).await;
        assert_eq!(vectors.is_ok(), has_key);
        let (client, task) = (ClientDialect::Chat, ModelTask::Embed);
        let forwarded = forward(&route, client, task, body, &own_key()).await;
        let forwarded = passed(forwarded.unwrap());
        assert_eq!(forwarded.status == 200, has_key);
        drain(forwarded.body).await;
        let made = route.forward_endpoint(image(), &own_key()).await.unwrap();
        assert_eq!(made.status == 200, has_key);
        drain(made.body).await;
        let expected = format!("Bearer {KEY}");
        let sent = keys(&second).await;
        assert_eq!(sent, vec![expected; if has_key { 3 } else { 0 }]);
        let own = format!("Bearer {OWN}");
        assert!(keys(&first).await.iter().all(|key| *key == own));
    }
}

/// A model with two deployments, of which the first gets nearly all requests.
fn deployments() -> ModelConfig {
    ModelConfig::with_deployments(
        "gpt",
        [
            DeploymentConfig::new("eu").with_weight(u32::MAX),
            DeploymentConfig::new("us"),
        ],
    )
}

/// The header of a request that was answered.
async fn routed(route: &Route, credentials: &ClientCredentials) -> String {
    let (client, task) = (ClientDialect::Chat, ModelTask::Generate);
    let outcome = forward(route, client, task, CHAT, credentials).await;
    let outcome = outcome.unwrap();
    let header = outcome.decision().map(|decision| decision.header_value());
    drain(passed(outcome).body).await;
    header.unwrap_or_default()
}

#[tokio::test]
async fn deployments_that_cannot_be_called_are_passed_over_as_the_header_shows() {
    let (eu, us) = two_upstreams().await;
    eu.respond_always(MockResponse::json(200, CHAT_RESPONSE));
    us.respond_always(MockResponse::json(200, CHAT_RESPONSE));
    let mut model = deployments();
    model.deployments[0].weight = 0;
    let providers = vec![open("eu", openai(eu.url())), open("us", openai(us.url()))];
    let route = route_of(providers, model);
    for _ in 0..5 {
        let header = routed(&route, &own_key()).await;
        assert!(header.contains("deployment=eu/gpt"), "{header}");
        assert!(header.ends_with("; without-key=1"), "{header}");
    }
    assert_eq!(keys(&eu).await, vec![format!("Bearer {OWN}"); 5]);
    assert!(us.requests().await.is_empty());
}

#[tokio::test]
async fn a_key_of_a_client_that_is_refused_has_no_deployment_passed_over_for_others() {
    let (eu, us) = two_upstreams().await;
    let own = format!("Bearer {OWN}");
    eu.respond_with(move |request| match request.header("authorization") {
        Some(key) if key == own => MockResponse::json(401, REFUSED),
        _ => MockResponse::json(200, CHAT_RESPONSE),
    });
    us.respond_always(MockResponse::json(200, CHAT_RESPONSE));
    let providers = vec![
        with_key(open("eu", openai(eu.url()))),
        with_key(open("us", openai(us.url()))),
    ];
    let mut model = deployments();
    model.sticky = Some(Duration::ZERO);
    let route = route_of(providers, model);
    for _ in 0..3 {
        let header = routed(&route, &own_key()).await;
        assert!(
            header.contains("us/gpt; attempt=2; reason=retry:401"),
            "{header}"
        );
    }
    let header = routed(&route, &ClientCredentials::default()).await;
    assert!(header.contains("eu/gpt; attempt=1"), "{header}");
    // Nor is it passed over because the account of a client is at a limit.
    let (eu, us) = two_upstreams().await;
    let used_up = MockResponse::json(200, CHAT_RESPONSE)
        .header("x-ratelimit-remaining-requests", "0")
        .header("x-ratelimit-reset-requests", "1h");
    eu.respond(used_up)
        .respond_always(MockResponse::json(200, CHAT_RESPONSE));
    us.respond_always(MockResponse::json(200, CHAT_RESPONSE));
    let providers = vec![
        with_key(open("eu", openai(eu.url()))),
        with_key(open("us", openai(us.url()))),
    ];
    let mut model = deployments();
    model.sticky = Some(Duration::ZERO);
    let route = route_of(providers, model);
    for credentials in [own_key(), ClientCredentials::default()] {
        let header = routed(&route, &credentials).await;
        assert!(header.contains("eu/gpt; attempt=1"), "{header}");
    }
}
