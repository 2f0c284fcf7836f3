//! Traces for a collector.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;
use prowess_server::{SecretString, TelemetrySettings};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::{MESSAGES, question};
use crate::gateway::Gateway;
use crate::otlp::{
    accepted, attributes, decode, hex, one, received, rendered, settings, traced, traced_with,
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn small_question() -> String {
    question(ClientDialect::Messages, "small", false).to_string()
}

#[tokio::test]
async fn a_request_is_a_span_with_what_it_used() {
    let collector = MockUpstream::start().await;
    collector.respond_always(accepted());
    let gateway = traced_with(TelemetrySettings {
        headers: vec![("x-token".to_owned(), SecretString::new("secret"))],
        ..settings(&collector)
    })
    .await;
    gateway.upstream.respond(MockResponse::json(200, MESSAGES));
    let headers = [("traceparent", PARENT), ("tracestate", "rojo=1,congo=2")];
    gateway
        .send("/v1/messages", &headers, small_question())
        .await;
    gateway.app.flush().await;
    let sent = collector.next_request().await;
    assert_eq!(sent.header("x-token"), Some("secret"));
    let spans = decode(&sent);
    let [span] = spans.as_slice() else {
        panic!("{spans:?}");
    };
    assert_eq!(hex(&span.trace_id), TRACE);
    assert_eq!(hex(&span.parent_span_id), "b7ad6b7169203331");
    insta::assert_json_snapshot!(rendered(span));
    // The provider gets this span as parent, and everything else is as without telemetry.
    let upstream_request = gateway.upstream.next_request().await;
    let named_span = format!("00-{TRACE}-{}-01", hex(&span.span_id));
    assert_eq!(
        upstream_request.header("traceparent"),
        Some(named_span.as_str())
    );
    assert_eq!(
        upstream_request.header("tracestate"),
        Some("rojo=1,congo=2")
    );
    let body: Value = serde_json::from_slice(&upstream_request.body).unwrap();
    assert_eq!(body["messages"], question_messages());
}

fn question_messages() -> Value {
    question(ClientDialect::Messages, "small", false)["messages"].clone()
}

#[tokio::test]
async fn without_telemetry_the_trace_headers_of_a_client_pass_unchanged() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, MESSAGES));
    for headers in [
        &[("traceparent", PARENT), ("tracestate", "rojo=1")][..],
        &[][..],
    ] {
        gateway
            .send("/v1/messages", headers, small_question())
            .await;
        let upstream_request = gateway.upstream.next_request().await;
        for name in ["traceparent", "tracestate"] {
            let sent = headers.iter().find(|(known, _)| *known == name);
            assert_eq!(upstream_request.header(name), sent.map(|(_, value)| *value));
        }
    }
}

#[tokio::test]
async fn a_failure_is_a_span_with_its_reason_and_an_unrecorded_trace_is_none() {
    let collector = MockUpstream::start().await;
    let gateway = traced(&collector).await;
    let unrecorded = PARENT.replace("-01", "-00");
    for parent in [unrecorded.as_str(), "nonsense"] {
        let request = question(ClientDialect::Chat, "nobody", false).to_string();
        let headers = [("traceparent", parent), ("tracestate", "rojo=1")];
        gateway
            .send("/v1/chat/completions", &headers, request)
            .await;
    }
    gateway.app.flush().await;
    let spans = received(&collector).await;
    let [span] = spans.as_slice() else {
        panic!("{spans:?}");
    };
    let status = span.status.as_ref().unwrap();
    assert_eq!(
        (status.code, status.message.as_str()),
        (2, "model-not-found")
    );
    let about = attributes(&span.attributes);
    assert_eq!(about["error.type"], "model-not-found");
    assert_eq!(about["http.response.status_code"], 404);
    assert!(span.parent_span_id.is_empty());
    assert_eq!(span.trace_state, "");
    assert_ne!(hex(&span.trace_id), TRACE);
}

#[tokio::test]
async fn an_unrecorded_trace_goes_on_at_the_provider_as_unrecorded() {
    let collector = MockUpstream::start().await;
    let gateway = traced_with(TelemetrySettings {
        sample_ratio: 0.0,
        ..settings(&collector)
    })
    .await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, MESSAGES));
    for headers in [&[("traceparent", &*PARENT.replace("-01", "-00"))][..], &[]] {
        gateway
            .send("/v1/messages", headers, small_question())
            .await;
        let upstream_request = gateway.upstream.next_request().await;
        let named_span = upstream_request.header("traceparent").unwrap();
        assert!(named_span.ends_with("-00"), "{named_span}");
    }
    gateway.app.flush().await;
    assert_eq!(collector.requests().await.len(), 0);
}

#[tokio::test]
async fn a_collector_that_is_busy_gets_the_same_spans_again() {
    let collector = MockUpstream::start().await;
    collector
        .respond(MockResponse::bytes(503, "text/plain", "later").header("retry-after", "0"))
        .respond(MockResponse::bytes(502, "text/plain", "later"))
        .respond(MockResponse::hang_up())
        .respond(MockResponse::hang_up());
    let gateway = traced(&collector).await;
    gateway.upstream.respond(MockResponse::json(200, MESSAGES));
    gateway.send("/v1/messages", &[], small_question()).await;
    gateway.app.flush().await;
    let requests = collector.requests().await;
    assert_eq!(requests.len(), 5);
    for request in &requests {
        assert_eq!(request.body, requests[0].body);
        assert_eq!(decode(request).len(), 1);
    }
}

#[tokio::test]
async fn what_a_collector_refuses_is_counted_and_not_sent_again() {
    let collector = MockUpstream::start().await;
    let rejected = ExportTraceServiceResponse {
        partial_success: Some(ExportTracePartialSuccess {
            rejected_spans: 1,
            error_message: "too old".to_owned(),
        }),
    };
    let gateway = traced(&collector).await;
    let dropped = async || {
        let metrics = gateway.get("/metrics", &[]).await;
        let mut lines = metrics.text().lines();
        let line = lines.find_map(|line| line.strip_prefix("prowess_spans_dropped_total "));
        line.unwrap().parse::<u64>().unwrap()
    };
    let before = dropped().await;
    for refusal in [
        MockResponse::json(400, "{}"),
        MockResponse::bytes(200, "application/x-protobuf", rejected.encode_to_vec()),
    ] {
        collector.respond(refusal);
        gateway.upstream.respond(MockResponse::json(200, MESSAGES));
        gateway.send("/v1/messages", &[], small_question()).await;
        gateway.app.flush().await;
        assert_eq!(collector.requests().await.len(), 1);
    }
    // Other tests of this process may drop some too.
    assert!(dropped().await >= before + 2);
}

#[tokio::test]
async fn spans_are_compressed_if_that_is_configured() {
    let collector = MockUpstream::start().await;
    collector.respond_always(accepted());
    let gateway = traced_with(TelemetrySettings {
        gzip: true,
        timeout: Some(Duration::from_secs(5)),
        ..settings(&collector)
    })
    .await;
    gateway.upstream.respond(MockResponse::json(200, MESSAGES));
    gateway.send("/v1/messages", &[], small_question()).await;
    gateway.app.flush().await;
    let sent = collector.next_request().await;
    assert_eq!(sent.header("content-encoding"), Some("gzip"));
    assert_eq!(decode(&sent).len(), 1);
}

#[tokio::test]
async fn many_spans_are_sent_in_batches() {
    let collector = MockUpstream::start().await;
    let gateway = traced(&collector).await;
    for _ in 0..600 {
        let request = question(ClientDialect::Chat, "stage/hero", false).to_string();
        gateway.post("/v1/chat/completions", request).await;
    }
    gateway.app.flush().await;
    let requests = collector.requests().await;
    assert!((2..20).contains(&requests.len()), "{}", requests.len());
    let spans: usize = requests.iter().map(|request| decode(request).len()).sum();
    assert_eq!(spans, 600);
}

#[tokio::test]
async fn without_a_collector_requests_are_answered_all_the_same() {
    let collector = MockUpstream::start().await;
    let gateway = traced_with(TelemetrySettings {
        timeout: Some(Duration::from_millis(500)),
        ..settings(&collector)
    })
    .await;
    drop(collector);
    let request = question(ClientDialect::Chat, "stage/hero", false).to_string();
    let answer = gateway.post("/v1/chat/completions", request).await;
    assert_eq!(answer.status, 200);
    gateway.app.flush().await;
}

#[tokio::test]
async fn embeddings_are_spans_of_their_own_operation() {
    let collector = MockUpstream::start().await;
    let gateway = traced(&collector).await;
    let body = json!({ "object": "list", "model": "e", "data": [{ "object": "embedding",
        "index": 0, "embedding": [0.5] }], "usage": { "prompt_tokens": 3, "total_tokens": 3 } });
    let body = body.to_string();
    gateway.upstream.respond(MockResponse::json(200, &body));
    let request = json!({ "model": "oai/m1", "input": "text" }).to_string();
    gateway.post("/v1/embeddings", request).await;
    gateway.app.flush().await;
    let spans = received(&collector).await;
    let about = attributes(&one(&spans, "embeddings oai/m1").attributes);
    assert_eq!(about["gen_ai.operation.name"], "embeddings");
}
