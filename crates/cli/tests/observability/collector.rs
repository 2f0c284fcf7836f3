//! The spans of a real server at a real collector: it accepts all of them and passes them on as
//! they are, also those that were sent while it was stopped.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use opentelemetry_proto::tonic::trace::v1::Span;
use prowess_testkit::upstream::{MockResponse, MockUpstream};

use super::rotel::Rotel;
use super::span_relay::{ExportedSpan, RelayedExport, SpanRelay, exported_spans};
use super::spans::attribute;
use super::traced_server::{CLIENT_SPAN, TracedServer};
use crate::run;

const MAX_WAIT: Duration = Duration::from_secs(60);
/// What a server logs about traces that did not arrive.
const COMPLAINTS: [&str; 4] = [
    "cannot send traces",
    "traces cannot be sent",
    "could not be sent in time",
    "rejects spans",
];

/// What the collector passes spans on to.
async fn start_backend() -> MockUpstream {
    let backend = MockUpstream::start().await;
    backend.respond_always(MockResponse::bytes(200, "application/x-protobuf", ""));
    backend
}

/// Waits until the collector has passed on so many spans; returns them by id.
async fn receive(backend: &MockUpstream, count: usize) -> Vec<ExportedSpan> {
    let mut received = Vec::new();
    while received.len() < count {
        let next = tokio::time::timeout(MAX_WAIT, backend.next_request()).await;
        let next = next.unwrap_or_else(|_| panic!("{} of {count} spans arrived", received.len()));
        received.extend(exported_spans(&next));
    }
    let late = backend.requests().await;
    received.extend(late.iter().flat_map(exported_spans));
    by_id(received)
}

/// The spans of the exports that the collector accepted, by id.
fn accepted(exports: &[RelayedExport]) -> Vec<ExportedSpan> {
    let answered = exports.iter().filter(|export| export.answer.is_some());
    by_id(
        answered
            .flat_map(|export| {
                // An empty message: no span is rejected.
                assert_eq!(export.answer, Some((200, Vec::new())));
                exported_spans(&export.request)
            })
            .collect(),
    )
}

fn by_id(mut spans: Vec<ExportedSpan>) -> Vec<ExportedSpan> {
    spans.sort_by(|a, b| a.span.span_id.cmp(&b.span.span_id));
    spans
}

fn assert_nothing_was_lost(log: &str) {
    for complaint in COMPLAINTS {
        assert!(!log.contains(complaint), "{log}");
    }
}

#[test]
fn a_real_collector_accepts_every_span_and_passes_it_on_unchanged() {
    run(async {
        let backend = start_backend().await;
        let rotel = Rotel::start(backend.url());
        let relay = SpanRelay::start(rotel.url()).await;
        let settings = "compression = 'gzip'\ncontent = true";
        let server = TracedServer::start(&relay, settings).await;
        server.serve_every_sort().await;
        assert_nothing_was_lost(&server.stop());
        let exports = relay.exports();
        assert!(exports.iter().all(|export| export.answer.is_some()));
        let sent = accepted(&exports);
        let received = receive(&backend, sent.len()).await;
        assert_eq!(received, sent, "{}", rotel.log());
        check_spans(&received);
    });
}

/// Every sort of span is there, below the span that it belongs to.
fn check_spans(received: &[ExportedSpan]) {
    let spans: Vec<&Span> = received.iter().map(|one| &one.span).collect();
    let by_id: HashMap<&[u8], &Span> = spans.iter().map(|s| (s.span_id.as_slice(), *s)).collect();
    assert_eq!(by_id.len(), spans.len(), "two spans have one id");
    let mut counts = BTreeMap::new();
    for span in &spans {
        *counts.entry(span.name.as_str()).or_insert(0) += 1;
        let parent = by_id.get(span.parent_span_id.as_slice());
        match (span.name.as_str(), parent) {
            ("sandbox command", Some(parent)) => {
                assert_eq!(parent.name, "execute_tool bash_code_execution");
                assert_eq!(parent.trace_id, span.trace_id);
            }
            (name, Some(parent)) => {
                assert!(name.starts_with("chat ") || name.starts_with("execute_tool "));
                assert_eq!(parent.name, "invoke_agent prowess");
                assert_eq!(parent.trace_id, span.trace_id);
            }
            (name, None) => {
                assert!(name.starts_with("chat ") || name == "invoke_agent prowess");
            }
        }
    }
    assert_eq!(
        counts,
        BTreeMap::from([
            ("chat stage/m", 3 * 3 + 2 + 1),
            ("chat vendor/m1", 2),
            ("execute_tool bash_code_execution", 3 + 2),
            ("execute_tool load_skill", 3),
            ("invoke_agent prowess", 5),
            ("sandbox command", 3 + 2),
        ])
    );
    let count = |what: &dyn Fn(&Span) -> bool| spans.iter().filter(|span| what(span)).count();
    let has = |key: &str, value: &str| {
        count(&|span| attribute(&span.attributes, key).as_deref() == Some(value))
    };
    let below_client = |span: &Span| hex(&span.parent_span_id) == CLIENT_SPAN;
    let texts = |span: &Span| attribute(&span.attributes, "gen_ai.tool.call.result").is_some();
    let failed = |span: &Span| span.status.as_ref().is_some_and(|status| status.code == 2);
    assert_eq!(
        [
            count(&|span| below_client(span) && span.trace_state == "vendor=1"),
            // Loading the skill, and running its script, in each dialect.
            has("gen_ai.skill.name", "report"),
            has("prowess.failed_calls", "1"),
            has("process.exit.code", "3"),
            has("http.response.status_code", "400"),
            count(&texts),
            // A command, the call that ran it, and the refused request.
            count(&failed),
        ],
        [1, 3 + 3, 1, 1, 1, 3 + 5, 3]
    );
    for one in received {
        let service = attribute(&one.resource.attributes, "service.name");
        assert_eq!(service.as_deref(), Some("gate"));
    }
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn spans_that_were_sent_while_the_collector_was_stopped_arrive_when_it_is_back() {
    run(async {
        let backend = start_backend().await;
        let mut rotel = Rotel::start(backend.url());
        let relay = SpanRelay::start(rotel.url()).await;
        let server = TracedServer::start(&relay, "timeout = '60s'").await;
        assert_eq!(server.send_hello("stage/m").await, 200);
        relay.next_export().await;
        let mut received = receive(&backend, 1).await;

        rotel.stop();
        assert_eq!(server.send_hello("stage/m").await, 200);
        relay.next_export().await;
        let exports = relay.exports();
        assert_eq!(exports[1].answer, None, "{}", rotel.log());
        rotel.restart();
        received.extend(receive(&backend, 1).await);
        assert_nothing_was_lost(&server.stop());
        let sent = accepted(&relay.exports());
        assert_eq!(sent.len(), 2);
        assert_eq!(by_id(received), sent);
    });
}
