//! Traces of model calls, for an OpenTelemetry collector.
//!
//! One span per request, and below it one per call of a tool of Prowess, with the attributes of
//! the GenAI conventions, sent as OTLP over HTTP in JSON. Nothing runs here unless an endpoint is configured. Like usage rows, spans are
//! queued and sent in batches; the queue is bounded, and what does not fit is dropped and
//! counted.

mod otlp;
mod tool_span;
mod trace_parent;

use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use prowess_wire::neutral::TokenUsage;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

pub(crate) use tool_span::ToolSpan;
pub(crate) use trace_parent::TraceParent;

use crate::settings::TelemetrySettings;

const MAX_QUEUED_SPANS: usize = 4_096;
const MAX_BATCH_SPANS: usize = 256;
const SEND_INTERVAL: Duration = Duration::from_secs(2);
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

const DROPPED_METRIC: &str = "prowess_spans_dropped_total";

/// The trace span of one request.
pub(crate) struct RequestSpan {
    pub(crate) parent: Option<TraceParent>,
    pub(crate) started_at: SystemTime,
    pub(crate) duration: Duration,
    pub(crate) dialect: &'static str,
    pub(crate) provider: String,
    pub(crate) provider_kind: &'static str,
    pub(crate) requested_model: String,
    pub(crate) response_model: String,
    pub(crate) streamed: bool,
    pub(crate) status: u16,
    pub(crate) error_code: Option<String>,
    pub(crate) usage: TokenUsage,
    pub(crate) tenant: String,
    pub(crate) key: Option<String>,
    /// Calls of Prowess's tools during it.
    pub(crate) tools: Vec<ToolSpan>,
}

/// Collects spans and has them sent.
pub(crate) struct Telemetry {
    settings: TelemetrySettings,
    /// The runtime of the sender: a connection's own runtime ends before the server does.
    runtime: Option<Handle>,
    queue: OnceLock<mpsc::Sender<SpanQueueEntry>>,
}

enum SpanQueueEntry {
    Span(Box<RequestSpan>),
    Flush(oneshot::Sender<()>),
}

impl Telemetry {
    pub(crate) fn new(settings: TelemetrySettings) -> Telemetry {
        Telemetry {
            settings,
            runtime: Handle::try_current().ok(),
            queue: OnceLock::new(),
        }
    }

    /// Records a span, unless its trace is not sampled or the queue is full.
    pub(crate) fn record(&self, span: RequestSpan) {
        if span.parent.as_ref().is_some_and(|parent| !parent.sampled) {
            return;
        }
        let Some(runtime) = self.runtime.clone().or_else(|| Handle::try_current().ok()) else {
            metrics::counter!(DROPPED_METRIC).increment(1);
            return;
        };
        let queue = self.queue.get_or_init(|| {
            let (sender, receiver) = mpsc::channel(MAX_QUEUED_SPANS);
            runtime.spawn(run_sender(self.settings.clone(), receiver));
            sender
        });
        if queue
            .try_send(SpanQueueEntry::Span(Box::new(span)))
            .is_err()
        {
            metrics::counter!(DROPPED_METRIC).increment(1);
        }
    }

    /// Waits until all spans so far are sent or dropped.
    pub(crate) async fn flush(&self) {
        let (done, sent) = oneshot::channel();
        if let Some(queue) = self.queue.get()
            && queue.send(SpanQueueEntry::Flush(done)).await.is_ok()
        {
            // The sender runs as long as the queue.
            let _ = sent.await;
        }
    }
}

async fn run_sender(settings: TelemetrySettings, mut queue: mpsc::Receiver<SpanQueueEntry>) {
    let client = reqwest::Client::builder().timeout(SEND_TIMEOUT).build();
    let mut spans = Vec::new();
    while let Some(entry) = queue.recv().await {
        let until = Instant::now() + SEND_INTERVAL;
        let mut waiting = accept_entry(entry, &mut spans);
        while waiting.is_none() && spans.len() < MAX_BATCH_SPANS {
            match tokio::time::timeout_at(until, queue.recv()).await {
                Ok(Some(entry)) => waiting = accept_entry(entry, &mut spans),
                Ok(None) | Err(_) => break,
            }
        }
        let batch = std::mem::take(&mut spans);
        let sent = match &client {
            Ok(client) => send(client, &settings, &batch).await,
            Err(error) => Err(error.to_string()),
        };
        if let Err(reason) = sent {
            metrics::counter!(DROPPED_METRIC).increment(batch.len() as u64);
            tracing::warn!(spans = batch.len(), reason, "cannot send traces");
        }
        if let Some(waiting) = waiting {
            // The receiver may be gone.
            let _ = waiting.send(());
        }
    }
}

fn accept_entry(
    entry: SpanQueueEntry,
    spans: &mut Vec<RequestSpan>,
) -> Option<oneshot::Sender<()>> {
    match entry {
        SpanQueueEntry::Flush(done) => Some(done),
        SpanQueueEntry::Span(span) => {
            spans.push(*span);
            None
        }
    }
}

async fn send(
    client: &reqwest::Client,
    settings: &TelemetrySettings,
    spans: &[RequestSpan],
) -> Result<(), String> {
    if spans.is_empty() {
        return Ok(());
    }
    let mut request = client
        .post(&settings.endpoint)
        .json(&otlp::export_request(spans, &settings.service));
    for (name, value) in &settings.headers {
        request = request.header(name, value);
    }
    let response = request.send().await;
    let response = response.map_err(|error| error.without_url().to_string())?;
    match response.status() {
        status if status.is_success() => Ok(()),
        status => Err(format!("the collector responded with {status}")),
    }
}
