//! Spans of commands, as a collector gets them from gateways and workers.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AttributeValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};

const PARTS: [&str; 3] = ["prepare", "run", "store"];
/// How long spans may take to arrive: they are sent every other second.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A collector that takes everything.
pub(crate) async fn start_collector() -> MockUpstream {
    let collector = MockUpstream::start().await;
    collector.respond_always(MockResponse::bytes(200, "application/x-protobuf", ""));
    collector
}

/// All spans of an export request.
pub(crate) fn decode(request: &ReceivedRequest) -> Vec<Span> {
    let decoded = ExportTraceServiceRequest::decode(request.body.as_slice()).unwrap();
    let resources = decoded.resource_spans.into_iter();
    let scopes = resources.flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

/// A text among the attributes of a span.
pub(crate) fn text<'s>(span: &'s Span, key: &str) -> Option<&'s str> {
    let found = span.attributes.iter().find(|one| one.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        AttributeValue::StringValue(text) => Some(text),
        other => panic!("{key}: {other:?}"),
    }
}

/// The spans directly below one.
pub(crate) fn below<'s>(all: &'s [Span], parent: &Span) -> Vec<&'s Span> {
    let children = all.iter();
    let children = children.filter(|span| span.parent_span_id == parent.span_id);
    children.collect()
}

/// Asserts what a worker sends of a command: where its time went, within that of the command.
pub(crate) fn assert_parts(all: &[Span], command: &Span) {
    let parts = below(all, command);
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, PARTS);
    let mut at = command.start_time_unix_nano;
    for part in parts {
        assert_eq!(part.trace_id, command.trace_id);
        assert_eq!(part.start_time_unix_nano, at);
        at = part.end_time_unix_nano;
    }
    assert!(at <= command.end_time_unix_nano);
}

/// Waits for the spans of so many commands, from their gateways and their workers.
pub(crate) async fn wait_for_commands(collector: &MockUpstream, count: usize) -> Vec<Span> {
    let mut all = Vec::new();
    let arrived = async {
        loop {
            all.extend(decode(&collector.next_request().await));
            let commands = all.iter().filter(|span| span.name == "sandbox command");
            let commands: Vec<&Span> = commands.collect();
            let has_part = |span: &&Span| !below(&all, span).is_empty();
            if commands.len() >= count && commands.iter().all(has_part) {
                return;
            }
        }
    };
    let arrived = tokio::time::timeout(MAX_WAIT, arrived).await;
    let names: Vec<&str> = all.iter().map(|span| span.name.as_str()).collect();
    assert!(arrived.is_ok(), "{names:?}");
    all
}
