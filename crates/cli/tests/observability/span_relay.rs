//! Between a server and its collector: passes every export on as it came, keeps what was sent and
//! how it was answered. Also reads what exports contain.

use std::io::Read;
use std::sync::{Arc, Mutex};

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};
use reqwest::Client;
use tokio::runtime::Handle;

/// Headers that belong to one connection.
const OWN_HEADERS: [&str; 2] = ["host", "content-length"];

/// What a server sends its traces to, in place of the collector.
pub(super) struct SpanRelay {
    server: MockUpstream,
    exports: Arc<Mutex<Vec<RelayedExport>>>,
}

/// An export, and the collector's status and body; no answer if it could not be reached.
#[derive(Debug, Clone)]
pub(super) struct RelayedExport {
    pub(super) request: ReceivedRequest,
    pub(super) answer: Option<(u16, Vec<u8>)>,
}

/// A span, with who sent it and what made it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExportedSpan {
    pub(super) resource: Resource,
    scope: InstrumentationScope,
    pub(super) span: Span,
}

impl SpanRelay {
    /// In front of the collector at this address.
    pub(super) async fn start(collector: String) -> SpanRelay {
        let server = MockUpstream::start().await;
        let exports = Arc::<Mutex<Vec<RelayedExport>>>::default();
        let (kept, http) = (Arc::clone(&exports), Client::new());
        server.respond_with(move |request| {
            let passed = pass_on(&http, &collector, request);
            // Whoever makes responses cannot wait.
            let answer = tokio::task::block_in_place(|| Handle::current().block_on(passed));
            kept.lock().unwrap().push(RelayedExport {
                request: request.clone(),
                answer: answer.clone(),
            });
            match answer {
                Some((status, body)) => MockResponse::bytes(status, "application/x-protobuf", body),
                None => MockResponse::hang_up(),
            }
        });
        SpanRelay { server, exports }
    }

    pub(super) fn url(&self) -> &str {
        self.server.url()
    }

    /// Waits for the next export; its answer is known by then.
    pub(super) async fn next_export(&self) {
        self.server.next_request().await;
    }

    /// All exports so far.
    pub(super) fn exports(&self) -> Vec<RelayedExport> {
        self.exports.lock().unwrap().clone()
    }
}

async fn pass_on(
    http: &Client,
    collector: &str,
    request: &ReceivedRequest,
) -> Option<(u16, Vec<u8>)> {
    let mut passed = http.post(format!("{collector}{}", request.path));
    for (name, value) in &request.headers {
        if !OWN_HEADERS.contains(&name.as_str()) {
            passed = passed.header(name, value);
        }
    }
    let answer = passed.body(request.body.clone()).send().await.ok()?;
    let status = answer.status().as_u16();
    Some((status, answer.bytes().await.ok()?.to_vec()))
}

/// The spans of an export.
pub(super) fn exported_spans(request: &ReceivedRequest) -> Vec<ExportedSpan> {
    assert_eq!(request.path, "/v1/traces");
    let mut body = request.body.clone();
    if request.header("content-encoding") == Some("gzip") {
        body.clear();
        let mut decoder = GzDecoder::new(request.body.as_slice());
        decoder.read_to_end(&mut body).unwrap();
    }
    let decoded = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
    let mut all = Vec::new();
    for resource in decoded.resource_spans {
        for scope in resource.scope_spans {
            all.extend(scope.spans.into_iter().map(|span| ExportedSpan {
                resource: resource.resource.clone().unwrap(),
                scope: scope.scope.clone().unwrap(),
                span,
            }));
        }
    }
    all
}
