//! Traces of model calls, for an OpenTelemetry collector.
//!
//! A request to a model is a span; if it becomes a run, the run's turns, calls of tools and
//! commands are spans below it. Names and attributes are those of the GenAI semantic conventions.
//! The official exporter sends them as OTLP over HTTP in protobuf and tries again if it fails.
//! Nothing runs here unless an endpoint is configured. Like usage rows, spans are queued and sent
//! in batches; the queue is bounded, and what does not fit is dropped and counted.
//!
//! | module | owns |
//! |---|---|
//! | `settings` | where spans are sent |
//! | `trace_parent` | a span of another process, such as the client's |
//! | `request_trace` | trace and span ids of a request, and the headers that carry them on |
//! | `span` | one span, as the exporter takes it |
//! | `request_span`, `run_spans` | the span of a request; those of the steps of a run |
//! | `worker_spans` | those of commands, in a worker of a cluster |
//! | `queue`, `dropped` | the queue and its batches; counting what is not sent |
//! | `exporter`, `http_client` | the official exporter, and its connection to the collector |

mod dropped;
mod exporter;
mod http_client;
mod queue;
mod request_span;
mod request_trace;
mod run_spans;
pub(crate) mod settings;
mod span;
mod trace_parent;
pub(crate) mod worker_spans;

use axum::http::HeaderMap;
use opentelemetry_sdk::trace::SpanData;

pub(crate) use request_span::RequestSpan;
pub(crate) use request_trace::RequestTrace;
pub(crate) use run_spans::{EndedRunSpans, RunSpans};

use queue::SpanQueue;
use settings::TelemetrySettings;

/// Collects spans and has them sent.
pub(crate) struct Telemetry {
    sample_ratio: f64,
    content: bool,
    queue: SpanQueue,
}

impl Telemetry {
    pub(crate) fn new(settings: TelemetrySettings) -> Telemetry {
        Telemetry {
            sample_ratio: settings.sample_ratio,
            content: settings.content,
            queue: SpanQueue::new(settings),
        }
    }

    /// Begins the trace of a request, or continues the client's. The headers then name the span
    /// of this request, for the provider.
    pub(crate) fn begin(&self, headers: &mut HeaderMap) -> Box<RequestTrace> {
        let trace = RequestTrace::begin(headers, self.sample_ratio);
        trace.write_headers(headers);
        Box::new(trace)
    }

    /// Continues with the span that the headers of a stored request name.
    pub(crate) fn resume(&self, headers: &HeaderMap) -> Box<RequestTrace> {
        Box::new(RequestTrace::resume(headers, self.sample_ratio))
    }

    /// Whether spans have texts.
    pub(crate) fn has_content(&self) -> bool {
        self.content
    }

    /// Records spans of one request, unless the queue is full.
    pub(crate) fn record(&self, spans: Vec<SpanData>) {
        self.queue.add(spans);
    }

    /// How many spans wait to be sent.
    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Waits until all spans so far are sent or dropped, a few seconds at most.
    pub(crate) async fn flush(&self) {
        self.queue.flush().await;
    }
}
