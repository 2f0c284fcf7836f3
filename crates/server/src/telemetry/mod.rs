//! Traces of requests to models, for an OpenTelemetry collector.
//!
//! One span for each request, with the attributes of the GenAI conventions, sent as
//! OTLP over HTTP in its JSON form. Nothing here runs unless an endpoint is configured.
//! Like rows of usage, spans wait in a bounded queue and are sent in batches; what does
//! not fit is dropped and counted.

mod otlp;
mod parent;

use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use prowess_wire::neutral::Usage;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

pub(crate) use parent::Parent;

use crate::settings::TelemetrySettings;

const QUEUE: usize = 4_096;
const BATCH: usize = 256;
const EVERY: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(10);

const DROPPED: &str = "prowess_spans_dropped_total";

/// What is told of one request.
pub(crate) struct Span {
    pub(crate) parent: Option<Parent>,
    pub(crate) began: SystemTime,
    pub(crate) took: Duration,
    pub(crate) dialect: &'static str,
    pub(crate) provider: String,
    pub(crate) kind: &'static str,
    pub(crate) asked: String,
    pub(crate) answered: String,
    pub(crate) streamed: bool,
    pub(crate) status: u16,
    pub(crate) code: Option<String>,
    pub(crate) usage: Usage,
    pub(crate) tenant: String,
    pub(crate) key: Option<String>,
}

/// Takes spans and sees to it that they are sent.
pub(crate) struct Telemetry {
    settings: TelemetrySettings,
    /// Where the sender lives: a connection's own runtime ends before the server does.
    home: Option<Handle>,
    queue: OnceLock<mpsc::Sender<Entry>>,
}

enum Entry {
    Span(Box<Span>),
    Flush(oneshot::Sender<()>),
}

impl Telemetry {
    pub(crate) fn new(settings: TelemetrySettings) -> Telemetry {
        Telemetry {
            settings,
            home: Handle::try_current().ok(),
            queue: OnceLock::new(),
        }
    }

    /// Takes a span, unless its trace is not recorded or too many wait.
    pub(crate) fn note(&self, span: Span) {
        if span.parent.as_ref().is_some_and(|parent| !parent.sampled) {
            return;
        }
        let Some(runtime) = self.home.clone().or_else(|| Handle::try_current().ok()) else {
            metrics::counter!(DROPPED).increment(1);
            return;
        };
        let queue = self.queue.get_or_init(|| {
            let (sender, receiver) = mpsc::channel(QUEUE);
            runtime.spawn(send_all(self.settings.clone(), receiver));
            sender
        });
        if queue.try_send(Entry::Span(Box::new(span))).is_err() {
            metrics::counter!(DROPPED).increment(1);
        }
    }

    /// Waits until all spans so far are sent, or given up.
    pub(crate) async fn flush(&self) {
        let (done, sent) = oneshot::channel();
        if let Some(queue) = self.queue.get()
            && queue.send(Entry::Flush(done)).await.is_ok()
        {
            // The sender lives as long as the queue.
            let _ = sent.await;
        }
    }
}

async fn send_all(settings: TelemetrySettings, mut queue: mpsc::Receiver<Entry>) {
    let client = reqwest::Client::builder().timeout(PATIENCE).build();
    let mut spans = Vec::new();
    while let Some(entry) = queue.recv().await {
        let until = Instant::now() + EVERY;
        let mut waiting = take(entry, &mut spans);
        while waiting.is_none() && spans.len() < BATCH {
            match tokio::time::timeout_at(until, queue.recv()).await {
                Ok(Some(entry)) => waiting = take(entry, &mut spans),
                Ok(None) | Err(_) => break,
            }
        }
        let batch = std::mem::take(&mut spans);
        let sent = match &client {
            Ok(client) => send(client, &settings, &batch).await,
            Err(error) => Err(error.to_string()),
        };
        if let Err(reason) = sent {
            metrics::counter!(DROPPED).increment(batch.len() as u64);
            tracing::warn!(spans = batch.len(), reason, "cannot send traces");
        }
        if let Some(waiting) = waiting {
            // Nobody may be waiting any more.
            let _ = waiting.send(());
        }
    }
}

fn take(entry: Entry, spans: &mut Vec<Span>) -> Option<oneshot::Sender<()>> {
    match entry {
        Entry::Flush(done) => Some(done),
        Entry::Span(span) => {
            spans.push(*span);
            None
        }
    }
}

async fn send(
    client: &reqwest::Client,
    settings: &TelemetrySettings,
    spans: &[Span],
) -> Result<(), String> {
    if spans.is_empty() {
        return Ok(());
    }
    let mut request = client
        .post(&settings.endpoint)
        .json(&otlp::request(spans, &settings.service));
    for (name, value) in &settings.headers {
        request = request.header(name, value);
    }
    let answer = request.send().await;
    let answer = answer.map_err(|error| error.without_url().to_string())?;
    match answer.status() {
        status if status.is_success() => Ok(()),
        status => Err(format!("the collector answered {status}")),
    }
}
