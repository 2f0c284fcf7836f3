//! Neutral calls: a neutral request gets a neutral response, whatever fails on the way.

mod common;

use std::time::Duration;

use common::*;
use prowess_provider::CallError;
use prowess_provider::config::{
    BreakerPolicy, ConcurrencyLimit, GeminiOptions, ModelConfig, ProviderConfig, ProviderKind,
    ProvidersConfig,
};
use prowess_provider::{ClientCredentials, Env, ProviderPathRequest, Providers};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::neutral::{ErrorKind, StreamEvent};

#[tokio::test]
async fn a_whole_answer_is_read_from_another_dialect() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, CHAT_RESPONSE));
    let reply = call(&route_to(openai(upstream.url())), &hello(false)).await;
    let response = whole(reply.unwrap());
    assert_eq!(response.content[0].as_text(), Some("Hi"));
    assert_eq!(response.usage.output_tokens, 1);
    insta::assert_snapshot!(upstream.next_request().await.render(), @r#"
    POST /v1/chat/completions
    accept: application/json
    accept-encoding: identity
    content-type: application/json
    user-agent: prowess/0.1.0
    authorization: Bearer sk-test-0123456789
    content-length: 76

    {"model":"m1","messages":[{"role":"user","content":"Hello"}],"max_tokens":5}
    "#);
}

#[tokio::test]
async fn a_stream_is_read_from_another_dialect() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::sse(CHAT_STREAM).in_chunks(5));
    let reply = call(&route_to(openai(upstream.url())), &hello(true)).await;
    let events = rest(stream(reply.unwrap())).await;
    assert_eq!(collect_text(&events), ("Hi".to_owned(), None));
    assert_eq!(events.last(), Some(&StreamEvent::MessageStop));
}

#[tokio::test]
async fn a_whole_response_is_replayed_as_a_stream() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, MESSAGES_RESPONSE));
    let reply = call(&route_to(anthropic(upstream.url())), &hello(true)).await;
    let events = rest(stream(reply.unwrap())).await;
    assert_eq!(collect_text(&events), ("Hi".to_owned(), None));
    assert_eq!(events.last(), Some(&StreamEvent::MessageStop));
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_stream() {
    let upstream = MockUpstream::start().await;
    upstream.respond_always(MockResponse::sse(MESSAGES_STREAM));
    let route = route_to(anthropic(upstream.url()));
    for _ in 0..5 {
        let reply = call(&route, &hello(true)).await.unwrap();
        assert_eq!(collect_text(&rest(stream(reply)).await).1, None);
    }
    // The pool may open one in advance.
    assert!(upstream.connections() < 3);
}

#[tokio::test]
async fn calls_at_once_do_not_share_a_connection() {
    let upstream = MockUpstream::start().await;
    let head = MESSAGES_STREAM.split("\n\n").next().unwrap();
    upstream.respond_always(MockResponse::sse(&format!("{head}\n\n")).then_hang());
    let route = route_to(anthropic(upstream.url()));
    let mut open = Vec::new();
    for _ in 0..150 {
        open.push(stream(call(&route, &hello(true)).await.unwrap()));
    }
    assert_eq!(upstream.connections(), 150);
}

#[tokio::test]
async fn an_upstreams_error_keeps_status_type_and_message() {
    let upstream = MockUpstream::start().await;
    upstream.respond(
        MockResponse::json(
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: m1"}}"#,
        )
        .header("request-id", "req_7"),
    );
    let error = call(&route_to(anthropic(upstream.url())), &hello(false)).await;
    let error = error.unwrap_err().to_api_error();
    assert_eq!((error.status, error.kind), (404, ErrorKind::NotFound));
    assert_eq!(error.message, "model: m1");
    assert_eq!(error.request_id.as_deref(), Some("req_7"));
}

#[tokio::test]
async fn a_stream_that_fails_with_its_first_event_is_tried_again() {
    let upstream = MockUpstream::start().await;
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"full\"}}\n\n";
    upstream
        .respond(MockResponse::sse(overloaded))
        .respond(MockResponse::sse(MESSAGES_STREAM));
    let reply = call(&route_to(anthropic(upstream.url())), &hello(true)).await;
    assert_eq!(
        collect_text(&rest(stream(reply.unwrap())).await),
        ("Hi".to_owned(), None)
    );
    assert_eq!(upstream.requests().await.len(), 2);
}

#[tokio::test]
async fn a_pause_the_upstream_asks_for_is_kept_if_it_is_short() {
    let upstream = MockUpstream::start().await;
    let full = MockResponse::json(429, r#"{"error":{"message":"full"}}"#);
    upstream
        .respond(full.clone().header("retry-after-ms", "5"))
        .respond(MockResponse::json(200, CHAT_RESPONSE))
        .respond(full.header("retry-after", "3600"));
    let route = route_to(openai(upstream.url()));
    call(&route, &hello(false)).await.unwrap();
    let error = call(&route, &hello(false)).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
    assert_eq!(error.to_api_error().kind, ErrorKind::RateLimit);
    assert_eq!(upstream.requests().await.len(), 3);
}

#[tokio::test]
async fn a_pause_that_google_asks_for_in_the_body_is_kept() {
    let upstream = MockUpstream::start().await;
    let full = r#"{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}"#;
    upstream.respond_always(MockResponse::json(429, full));
    let kind = ProviderKind::new(GeminiOptions::default());
    let config = ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new("gem", kind)
            .with_base_url(upstream.url())
            .with_api_key(KEY)
    };
    let error = call(&route_to(config), &hello(false)).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_millis(34_500)));
    // It is too long to wait for.
    assert_eq!(upstream.requests().await.len(), 1);
}

#[tokio::test]
async fn an_error_in_mid_stream_is_the_last_event_and_is_not_tried_again() {
    let upstream = MockUpstream::start().await;
    let start: String = MESSAGES_STREAM.split_inclusive("\n\n").take(3).collect();
    let overloaded = format!(
        "{start}event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"overloaded_error\",\"message\":\"full {KEY}\"}}}}\n\n"
    );
    upstream.respond(MockResponse::sse(&overloaded));
    let reply = call(&route_to(anthropic(upstream.url())), &hello(true)).await;
    let (text, error) = collect_text(&rest(stream(reply.unwrap())).await);
    let error = error.unwrap();
    assert_eq!(text, "Hi");
    assert_eq!((error.status, error.kind), (529, ErrorKind::Overloaded));
    assert_eq!(error.message, "full [redacted]");
    assert_eq!(upstream.requests().await.len(), 1);
}

#[tokio::test]
async fn a_stream_cut_anywhere_ends_with_an_error() {
    let whole = MESSAGES_STREAM.as_bytes();
    for size in (0..whole.len() - 20).step_by(61) {
        let upstream = MockUpstream::start().await;
        let part = MockResponse::bytes(200, "text/event-stream", &whole[..size]);
        upstream.respond_always(part.cut_off());
        let reply = call(&route_to(anthropic(upstream.url())), &hello(true)).await;
        let error = match reply {
            Ok(reply) => collect_text(&rest(stream(reply)).await).1.unwrap(),
            Err(error) => error.to_api_error(),
        };
        assert_eq!(error.status, 502, "{size}");
        assert_eq!(error.code.as_deref(), Some("upstream-stream-cut"), "{size}");
    }
}

#[tokio::test]
async fn malformed_answers_are_errors_of_the_upstream() {
    for (answer, code) in [
        (MockResponse::json(200, "{\"id\":"), "upstream-bad-response"),
        (MockResponse::json(200, "[]"), "upstream-bad-response"),
        (
            MockResponse::bytes(200, "text/html", "<html>"),
            "upstream-bad-response",
        ),
    ] {
        let upstream = MockUpstream::start().await;
        upstream.respond(answer);
        let error = call(&route_to(anthropic(upstream.url())), &hello(false)).await;
        let error = error.unwrap_err();
        assert_eq!(error.code(), code);
        assert_eq!(error.to_api_error().status, 502);
    }
}

#[tokio::test]
async fn a_failure_reported_with_a_success_status_is_the_upstreams_error() {
    let upstream = MockUpstream::start().await;
    let limited = format!(r#"{{"error":{{"code":429,"message":"slow down, {KEY}"}}}}"#);
    let limited = MockResponse::json(200, &limited).header("x-request-id", "req_7");
    upstream.respond_always(limited);
    for stream in [false, true] {
        let error = call(&route_to(openai(upstream.url())), &hello(stream)).await;
        let error = error.unwrap_err();
        assert_eq!(error.code(), "upstream-error");
        let error = error.to_api_error();
        assert_eq!((error.status, error.kind), (429, ErrorKind::RateLimit));
        assert_eq!(error.message, "slow down, [redacted]");
        assert_eq!(error.request_id.as_deref(), Some("req_7"));
        assert_eq!(upstream.requests().await.len(), 3);
    }
}

#[tokio::test]
async fn a_failure_of_the_request_reported_with_a_success_status_is_not_tried_again() {
    let upstream = MockUpstream::start().await;
    let refused = r#"{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}"#;
    upstream.respond(MockResponse::json(200, refused));
    let error = call(&route_to(openai(upstream.url())), &hello(false)).await;
    let error = error.unwrap_err().to_api_error();
    assert_eq!((error.status, error.kind), (400, ErrorKind::InvalidRequest));
    assert_eq!(error.code.as_deref(), Some("context_length_exceeded"));
    assert_eq!(upstream.requests().await.len(), 1);
}

#[tokio::test]
async fn a_malformed_call_of_a_model_is_tried_again_and_does_not_open_the_circuit_breaker() {
    let upstream = MockUpstream::start().await;
    let malformed = r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#;
    let malformed = MockResponse::json(200, malformed);
    let text = r#"{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}"#;
    upstream
        .respond(malformed.clone())
        .respond(MockResponse::json(200, text))
        .respond_always(malformed);
    let kind = ProviderKind::new(GeminiOptions::default());
    let mut config = ProviderConfig::new("gem", kind)
        .with_base_url(upstream.url())
        .with_api_key(KEY);
    config.policies = quick();
    config.policies.breaker = BreakerPolicy {
        failures: 2,
        pause: Duration::from_secs(3600),
    };
    let route = route_to(config);
    let response = whole(call(&route, &hello(false)).await.unwrap());
    assert_eq!(response.content[0].as_text(), Some("Hi"));
    assert_eq!(upstream.requests().await.len(), 2);
    for _ in 0..2 {
        let error = call(&route, &hello(false)).await.unwrap_err();
        assert_eq!(error.code(), "upstream-error");
        assert_eq!(error.to_api_error().status, 502);
        assert_eq!(upstream.requests().await.len(), 3);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(307, "").header("location", "http://127.0.0.1:1/"));
    let error = call(&route_to(anthropic(upstream.url())), &hello(false)).await;
    assert_eq!(error.unwrap_err().to_api_error().status, 307);
    assert_eq!(upstream.requests().await.len(), 1);
}

#[tokio::test]
async fn an_upstream_that_does_not_begin_to_answer_is_given_up_and_left() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::never());
    let mut config = anthropic(upstream.url());
    config.policies.timeouts.response = Duration::from_millis(20);
    let error = call(&route_to(config), &hello(false)).await.unwrap_err();
    assert_eq!(error.to_string(), "ant sent no response within 20 ms");
    assert_eq!(error.to_api_error().status, 504);
    upstream.client_disconnected().await;
}

#[tokio::test]
async fn a_stream_that_stops_growing_is_given_up_and_left() {
    let upstream = MockUpstream::start().await;
    let head = MESSAGES_STREAM.split("\n\n").next().unwrap();
    upstream.respond(MockResponse::sse(&format!("{head}\n\n")).then_hang());
    let mut config = anthropic(upstream.url());
    config.policies.timeouts.idle = Duration::from_millis(20);
    let events = stream(call(&route_to(config), &hello(true)).await.unwrap());
    let error = collect_text(&rest(events).await).1.unwrap();
    assert_eq!((error.status, error.kind), (504, ErrorKind::Timeout));
    upstream.client_disconnected().await;
}

#[tokio::test]
async fn dropping_a_stream_closes_the_connection() {
    let upstream = MockUpstream::start().await;
    let head = MESSAGES_STREAM.split("\n\n").next().unwrap();
    upstream.respond(MockResponse::sse(&format!("{head}\n\n")).then_hang());
    let reply = call(&route_to(anthropic(upstream.url())), &hello(true)).await;
    drop(reply.unwrap());
    upstream.client_disconnected().await;
}

#[tokio::test]
async fn a_stream_without_end_is_read_as_long_as_anyone_wants() {
    let upstream = MockUpstream::start().await;
    let chunk = CHAT_STREAM.split_inclusive("\n\n").next().unwrap();
    upstream.respond(MockResponse::sse(chunk).then_endless());
    let reply = call(&route_to(openai(upstream.url())), &hello(true)).await;
    let mut events = stream(reply.unwrap());
    for _ in 0..10_000 {
        assert!(!matches!(
            events.next().await,
            None | Some(StreamEvent::Error(_))
        ));
    }
    drop(events);
    upstream.client_disconnected().await;
}

#[tokio::test]
async fn an_unreachable_upstream_is_reported_without_its_address() {
    let mut config = anthropic("http://127.0.0.1:9/secret-path");
    config.policies.retry.max_attempts = 1;
    let error = call(&route_to(config), &hello(false)).await.unwrap_err();
    assert_eq!(error.code(), "upstream-unreachable");
    assert!(!error.to_string().contains("secret-path"), "{error}");
    assert_eq!(error.to_api_error().status, 502);
}

#[tokio::test]
async fn an_upstream_that_keeps_failing_opens_the_circuit_breaker() {
    let upstream = MockUpstream::start().await;
    upstream.respond_always(MockResponse::json(500, "{}"));
    let mut config = anthropic(upstream.url());
    config.policies.breaker = BreakerPolicy {
        failures: 3,
        pause: Duration::from_secs(3600),
    };
    let route = route_to(config);
    assert_eq!(
        call(&route, &hello(false)).await.unwrap_err().code(),
        "upstream-error"
    );
    let error = call(&route, &hello(false)).await.unwrap_err();
    assert_eq!(error.code(), "upstream-circuit-open");
    assert!(error.retry_after().unwrap() > Duration::from_secs(3000));
    assert_eq!(upstream.requests().await.len(), 3);
}

#[tokio::test]
async fn a_stream_keeps_its_place_until_it_ends() {
    let upstream = MockUpstream::start().await;
    upstream.respond_always(MockResponse::sse(MESSAGES_STREAM));
    let providers = Providers::new(ProvidersConfig {
        providers: vec![anthropic(upstream.url())],
        models: vec![ModelConfig {
            limit: Some(ConcurrencyLimit {
                concurrent: 1,
                queued: 0,
                wait: Duration::from_secs(60),
            }),
            ..ModelConfig::new("one", "ant")
        }],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    })
    .unwrap();
    let route = providers.route("one").unwrap();
    let first = stream(call(&route, &hello(true)).await.unwrap());
    let busy = call(&route, &hello(true)).await.unwrap_err();
    assert!(matches!(busy, CallError::Busy { .. }), "{busy}");
    rest(first).await;
    drop(call(&route, &hello(true)).await.unwrap());
    call(&route, &hello(true)).await.unwrap();
}

#[tokio::test]
async fn the_models_of_an_upstream_are_listed() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(
        200,
        r#"{"object":"list","data":[{"id":"a","owned_by":"x"},{"id":"b"}]}"#,
    ));
    let providers = providers([openai(upstream.url())]);
    let models = providers
        .upstream_models("oai", &Default::default())
        .await
        .unwrap();
    let ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(models[0].details["owned_by"], "x");
    insta::assert_snapshot!(upstream.next_request().await.render(), @r"
    GET /v1/models
    accept: application/json
    accept-encoding: identity
    user-agent: prowess/0.1.0
    authorization: Bearer sk-test-0123456789
    ");
}

#[tokio::test]
async fn the_events_of_a_stream_come_in_their_order_however_they_are_cut() {
    let words = |events: &[StreamEvent]| {
        let word = |event: &StreamEvent| match event {
            StreamEvent::MessageStart { .. } => "start",
            StreamEvent::BlockStart { .. } => "block",
            StreamEvent::BlockDelta { .. } => "delta",
            StreamEvent::BlockStop { .. } => "stop",
            StreamEvent::MessageDelta { .. } => "last",
            StreamEvent::MessageStop => "end",
            _ => "other",
        };
        events.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    // In one chunk, the first event is awaited and all others arrive with it.
    for size in [1, 7, 200, 100_000] {
        let upstream = MockUpstream::start().await;
        upstream.respond(MockResponse::sse(MESSAGES_STREAM).in_chunks(size));
        let route = route_to(anthropic(upstream.url()));
        let events = rest(stream(call(&route, &hello(true)).await.unwrap())).await;
        assert_eq!(words(&events), "start block delta stop last end", "{size}");
    }
}

#[tokio::test]
async fn errors_of_other_paths_open_no_circuit_breaker_of_the_models() {
    let upstream = MockUpstream::start().await;
    upstream.respond_with(|request| match request.path.ends_with("/broken") {
        true => MockResponse::json(500, r#"{"error":{"message":"broken"}}"#),
        false => MockResponse::json(200, CHAT_RESPONSE),
    });
    let providers = providers([openai(upstream.url())]);
    let credentials = ClientCredentials::default();
    for _ in 0..12 {
        let request = ProviderPathRequest {
            method: http::Method::GET,
            path: "/broken".to_owned(),
            query: None,
            body: None,
        };
        let answer = providers.forward_path("oai", request, &credentials).await;
        let answer = answer.unwrap();
        assert_eq!(answer.status, 500);
        drain(answer.body).await;
    }
    let route = providers.route("oai/m1").unwrap();
    whole(call(&route, &hello(false)).await.unwrap());
}

#[tokio::test]
async fn a_path_that_is_refused_does_not_show_that_the_models_work() {
    let upstream = MockUpstream::start().await;
    upstream.respond_with(|request| match request.path.ends_with("/missing") {
        true => MockResponse::json(404, r#"{"error":{"message":"no such path"}}"#),
        false => MockResponse::json(500, "{}"),
    });
    let mut config = openai(upstream.url());
    // A call is tried three times.
    config.policies.breaker = BreakerPolicy {
        failures: 4,
        pause: Duration::from_secs(3600),
    };
    let providers = providers([config]);
    let route = providers.route("oai/m1").unwrap();
    let error = call(&route, &hello(false)).await.unwrap_err();
    assert_eq!(error.code(), "upstream-error");
    let request = ProviderPathRequest {
        method: http::Method::GET,
        path: "/missing".to_owned(),
        query: None,
        body: None,
    };
    let credentials = ClientCredentials::default();
    let answer = providers.forward_path("oai", request, &credentials).await;
    let answer = answer.unwrap();
    assert_eq!(answer.status, 404);
    drain(answer.body).await;
    call(&route, &hello(false)).await.unwrap_err();
    let error = call(&route, &hello(false)).await.unwrap_err();
    assert_eq!(error.code(), "upstream-circuit-open");
    assert_eq!(upstream.requests().await.len(), 5);
}
