//! Traces for a collector.

use prowess_server::{ServerSettings, TelemetrySettings};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;
use serde_json::Value;

use crate::bodies::{MESSAGES, question};
use crate::gateway::Gateway;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

async fn traced(collector: &MockUpstream) -> Gateway {
    collector.respond_always(MockResponse::json(200, "{}"));
    let telemetry = TelemetrySettings {
        endpoint: format!("{}/v1/traces", collector.url()),
        headers: vec![("x-token".to_owned(), "secret".to_owned())],
        service: "gate".to_owned(),
    };
    Gateway::with(ServerSettings {
        telemetry: Some(telemetry),
        ..ServerSettings::default()
    })
    .await
}

#[tokio::test]
async fn a_request_is_a_span_with_what_it_used() {
    let collector = MockUpstream::start().await;
    let gateway = traced(&collector).await;
    gateway.upstream.respond(MockResponse::json(200, MESSAGES));
    let request = question(ClientDialect::Messages, "small", false).to_string();
    let headers = [("traceparent", PARENT)];
    gateway.send("/v1/messages", &headers, request).await;
    gateway.app.flush().await;
    let sent = collector.next_request().await;
    assert_eq!(sent.path, "/v1/traces");
    assert_eq!(sent.header("x-token"), Some("secret"));
    assert_eq!(sent.header("content-type"), Some("application/json"));
    let mut body: Value = serde_json::from_str(sent.text()).unwrap();
    let span = &mut body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    let nanos = |value: &Value| value.as_str().unwrap().parse::<u128>().unwrap();
    assert!(nanos(&span["startTimeUnixNano"]) < nanos(&span["endTimeUnixNano"]));
    assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
    for key in ["startTimeUnixNano", "endTimeUnixNano", "spanId"] {
        span[key] = "…".into();
    }
    insta::assert_json_snapshot!(body);
}

#[tokio::test]
async fn a_failure_is_a_span_with_its_reason_and_an_unrecorded_trace_is_none() {
    let collector = MockUpstream::start().await;
    let gateway = traced(&collector).await;
    let unrecorded = PARENT.replace("-01", "-00");
    for parent in [unrecorded.as_str(), "nonsense"] {
        let request = question(ClientDialect::Chat, "nobody", false).to_string();
        let headers = [("traceparent", parent)];
        gateway
            .send("/v1/chat/completions", &headers, request)
            .await;
    }
    gateway.app.flush().await;
    let sent = collector.next_request().await;
    let body: Value = serde_json::from_str(sent.text()).unwrap();
    let spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array();
    let spans = spans.unwrap();
    assert_eq!(spans.len(), 1, "{body}");
    assert_eq!(spans[0]["status"]["code"], 2);
    assert_eq!(spans[0]["parentSpanId"], "");
    assert_eq!(spans[0]["traceId"].as_str().unwrap().len(), 32);
}

#[tokio::test]
async fn without_a_collector_requests_are_answered_all_the_same() {
    let collector = MockUpstream::start().await;
    let gateway = traced(&collector).await;
    drop(collector);
    let request = question(ClientDialect::Chat, "stage/hero", false).to_string();
    let answer = gateway.post("/v1/chat/completions", request).await;
    assert_eq!(answer.status, 200);
    gateway.app.flush().await;
}
