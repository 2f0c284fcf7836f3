//! A receiver of traces: what it gets must decode with the official types, and be whole.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AttributeValue;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use prowess_server::{ServerSettings, TelemetrySettings};
use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};
use serde_json::{Value, json};

use crate::gateway::Gateway;

/// A gateway that sends traces to this collector.
pub(crate) async fn traced(collector: &MockUpstream) -> Gateway {
    collector.respond_always(accepted());
    traced_with(settings(collector)).await
}

pub(crate) async fn traced_with(telemetry: TelemetrySettings) -> Gateway {
    Gateway::with(ServerSettings {
        telemetry: Some(telemetry),
        ..ServerSettings::default()
    })
    .await
}

pub(crate) fn settings(collector: &MockUpstream) -> TelemetrySettings {
    TelemetrySettings {
        endpoint: format!("{}/v1/traces", collector.url()),
        service: Some("gate".to_owned()),
        ..TelemetrySettings::default()
    }
}

/// The response of a collector that took everything: an empty message.
pub(crate) fn accepted() -> MockResponse {
    MockResponse::bytes(200, "application/x-protobuf", Vec::new())
}

/// The spans of an export request. Panics if they are not as the specification demands.
pub(crate) fn decode(request: &ReceivedRequest) -> Vec<Span> {
    assert_eq!(request.method, "POST");
    assert_eq!(request.path, "/v1/traces");
    assert_eq!(
        request.header("content-type"),
        Some("application/x-protobuf")
    );
    let mut body = request.body.clone();
    if request.header("content-encoding") == Some("gzip") {
        let mut decoder = GzDecoder::new(request.body.as_slice());
        body.clear();
        decoder.read_to_end(&mut body).unwrap();
    }
    let decoded = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
    let mut spans = Vec::new();
    for resource in decoded.resource_spans {
        let about = attributes(&resource.resource.unwrap().attributes);
        assert_eq!(about["service.name"], "gate");
        assert_eq!(about["service.version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(about["telemetry.sdk.name"], "opentelemetry");
        for scope in resource.scope_spans {
            assert_eq!(scope.scope.unwrap().name, "prowess");
            spans.extend(scope.spans);
        }
    }
    check(&spans);
    spans
}

/// All spans of all requests that a collector got so far.
pub(crate) async fn received(collector: &MockUpstream) -> Vec<Span> {
    let requests = collector.requests().await;
    requests.iter().flat_map(decode).collect()
}

fn check(spans: &[Span]) {
    let ids: HashSet<&[u8]> = spans.iter().map(|span| span.span_id.as_slice()).collect();
    assert_eq!(ids.len(), spans.len(), "two spans have one id");
    for span in spans {
        assert_eq!(span.trace_id.len(), 16);
        assert!(span.trace_id.iter().any(|byte| *byte != 0));
        assert_eq!(span.span_id.len(), 8);
        assert!(span.span_id.iter().any(|byte| *byte != 0));
        assert!(matches!(span.parent_span_id.len(), 0 | 8));
        assert!(!span.name.is_empty());
        assert_ne!(span.kind, 0, "{}", span.name);
        assert!(span.start_time_unix_nano > 0);
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
        assert_eq!(span.flags & 1, 1, "only sampled spans are sent");
        let names: HashSet<&str> = span.attributes.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(names.len(), span.attributes.len(), "{:?}", span.attributes);
        assert!(names.contains("gen_ai.operation.name") || span.name == "sandbox command");
    }
}

/// Attributes by name.
pub(crate) fn attributes(all: &[KeyValue]) -> BTreeMap<String, Value> {
    let pairs = all.iter().map(|attribute| {
        let value = attribute.value.as_ref().unwrap();
        (attribute.key.clone(), plain(value))
    });
    pairs.collect()
}

fn plain(value: &AnyValue) -> Value {
    match value.value.as_ref().unwrap() {
        AttributeValue::StringValue(text) => json!(text),
        AttributeValue::BoolValue(flag) => json!(flag),
        AttributeValue::IntValue(number) => json!(number),
        AttributeValue::DoubleValue(number) => json!(number),
        AttributeValue::ArrayValue(list) => list.values.iter().map(plain).collect(),
        other => panic!("{other:?}"),
    }
}

/// The one span of this name.
pub(crate) fn one<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    let found: Vec<&Span> = spans.iter().filter(|span| span.name == name).collect();
    match found.as_slice() {
        [one] => one,
        _ => panic!(
            "{} spans are named {name}, of {:?}",
            found.len(),
            spans.iter().map(|span| &span.name).collect::<Vec<_>>()
        ),
    }
}

/// An id in hexadecimal.
pub(crate) fn hex(id: &[u8]) -> String {
    id.iter()
        .fold(String::new(), |id, byte| format!("{id}{byte:02x}"))
}

/// Everything of a span that is the same in every run of a test.
pub(crate) fn rendered(span: &Span) -> Value {
    let status = span.status.as_ref().map(|status| {
        let message = &status.message;
        json!({ "code": status.code, "message": message })
    });
    json!({
        "name": span.name,
        "kind": span.kind,
        "trace_state": span.trace_state,
        "attributes": attributes(&span.attributes),
        "status": status,
    })
}
