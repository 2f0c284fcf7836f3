//! OpenRouter: headers that name the application, accounting, routing fields, and its errors.

use prowess_provider::ModelTask;
use prowess_provider::config::{OpenRouterOptions, ProviderConfig};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::{ClientDialect, Dialect};

use crate::common::*;

fn provider(upstream: &MockUpstream) -> ProviderConfig {
    let options = OpenRouterOptions {
        referer: Some("https://acme.example".to_owned()),
        title: Some("Acme".to_owned()),
        include_usage: true,
        ..OpenRouterOptions::default()
    };
    ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new("or", options)
            .with_base_url(format!("{}/api/v1", upstream.url()))
            .with_api_key(KEY)
    }
}

#[tokio::test]
async fn a_translated_request_names_the_application_and_asks_for_the_cost() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, CHAT_RESPONSE));
    let route = route_to(provider(&upstream));
    whole(call(&route, &hello(false)).await.unwrap());
    insta::assert_snapshot!(upstream.next_request().await.render());
}

#[tokio::test]
async fn a_request_passes_unchanged_with_its_routing_fields_and_headers() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, CHAT_RESPONSE));
    let route = route_to(provider(&upstream));
    let body = r#"{"model":"m1","provider":{"order":["a"],"allow_fallbacks":false},"models":["m1","m2"],"transforms":["middle-out"],"messages":[]}"#;
    let credentials = prowess_provider::ClientCredentials {
        key: None,
        headers: headers([("x-title", "Their app")]),
    };
    let chat = ClientDialect::Chat;
    let answer = forward(&route, chat, ModelTask::Generate, body, &credentials).await;
    passed(answer.unwrap());
    let received = upstream.next_request().await;
    assert_eq!(received.path, "/api/v1/chat/completions");
    assert_eq!(received.text(), body);
    assert_eq!(received.header("x-title"), Some("Their app"));
    assert_eq!(
        received.header("http-referer"),
        Some("https://acme.example")
    );
}

#[tokio::test]
async fn an_error_within_a_stream_of_status_200_is_an_error() {
    let upstream = MockUpstream::start().await;
    let first_chunk = r#"{"id":"g1","object":"chat.completion.chunk","created":1,"model":"m1","provider":"p","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}"#;
    let broken = r#"{"id":"g1","object":"chat.completion.chunk","created":1,"model":"m1","provider":"p","error":{"code":"server_error","message":"Provider disconnected"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#;
    let stream_text = format!(
        ": OPENROUTER PROCESSING\n\ndata: {first_chunk}\n\n: OPENROUTER PROCESSING\n\ndata: {broken}\n\n"
    );
    upstream.respond(MockResponse::sse(&stream_text));
    let route = route_to(provider(&upstream));
    let reply = call(&route, &hello(true)).await.unwrap();
    let (text, error) = collect_text(&rest(stream(reply)).await);
    assert_eq!(text, "Hi");
    assert_eq!(error.unwrap().message, "Provider disconnected");
}

#[tokio::test]
async fn an_error_in_a_response_of_status_200_is_an_error() {
    let upstream = MockUpstream::start().await;
    let refused = r#"{"error":{"code":502,"message":"Provider returned error"}}"#;
    upstream.respond_always(MockResponse::json(200, refused));
    let route = route_to(provider(&upstream));
    let error = call(&route, &hello(false)).await.unwrap_err();
    assert!(
        error.to_string().contains("Provider returned error"),
        "{error}"
    );
}

#[tokio::test]
async fn tokens_are_estimated_and_responses_are_used_by_option() {
    let upstream = MockUpstream::start().await;
    let route = route_to(provider(&upstream));
    let count = route.count(&hello(false), &Default::default()).await;
    assert!(count.unwrap().estimated);

    let options = OpenRouterOptions {
        responses: true,
        ..OpenRouterOptions::default()
    };
    let config = ProviderConfig::new("or", options)
        .with_base_url(upstream.url())
        .with_api_key(KEY);
    let route = route_to(config);
    let targets = route.targets();
    let responses = ClientDialect::Responses;
    assert!(targets[0].supports_pass_through(responses, ModelTask::Generate));
    assert_eq!(targets[0].kind(), "openrouter");
    let mut request = hello(false);
    request.origin = Dialect::Responses;
    upstream.respond(MockResponse::json(200, super::RESPONSES_RESPONSE));
    whole(call(&route, &request).await.unwrap());
    assert_eq!(upstream.next_request().await.path, "/responses");
}
