//! The queue of spans: bounded, sent in batches by one task. Whoever adds spans never waits; what
//! does not fit is dropped and counted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::dropped::count_dropped;
use super::exporter::build_exporter;
use super::settings::TelemetrySettings;

/// Spans that wait, those being sent included.
const MAX_QUEUED_SPANS: usize = 8_192;
const MAX_BATCH_SPANS: usize = 512;
const SEND_INTERVAL: Duration = Duration::from_secs(2);
/// How long a server that ends waits for its spans to be sent.
const FLUSH_DEADLINE: Duration = Duration::from_secs(5);

const SENT_METRIC: &str = "prowess_spans_sent_total";

/// Spans that wait to be sent.
pub(super) struct SpanQueue {
    settings: TelemetrySettings,
    /// The runtime of the sender: a connection's own runtime ends before the server does.
    runtime: Option<Handle>,
    entries: OnceLock<mpsc::UnboundedSender<SpanQueueEntry>>,
    /// How many spans wait. The channel itself has no bound, because one request has many spans.
    waiting: Arc<AtomicUsize>,
}

enum SpanQueueEntry {
    Spans(Vec<SpanData>),
    Flush(oneshot::Sender<()>),
}

impl SpanQueue {
    pub(super) fn new(settings: TelemetrySettings) -> SpanQueue {
        SpanQueue {
            settings,
            runtime: Handle::try_current().ok(),
            entries: OnceLock::new(),
            waiting: Arc::default(),
        }
    }

    /// Adds the spans of one request, all or none.
    pub(super) fn add(&self, spans: Vec<SpanData>) {
        let count = spans.len();
        if self.waiting.fetch_add(count, Ordering::Relaxed) + count > MAX_QUEUED_SPANS
            || !self.send(SpanQueueEntry::Spans(spans))
        {
            self.waiting.fetch_sub(count, Ordering::Relaxed);
            count_dropped(count);
        }
    }

    /// How many spans wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits until all spans so far are sent or dropped, but not for long.
    pub(super) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.entries.get().is_none() || !self.send(SpanQueueEntry::Flush(done)) {
            return;
        }
        if tokio::time::timeout(FLUSH_DEADLINE, flushed).await.is_err() {
            let spans = self.len();
            tracing::warn!(spans, "traces could not be sent in time");
        }
    }

    /// Passes an entry to the sender, which the first one starts.
    fn send(&self, entry: SpanQueueEntry) -> bool {
        let Some(runtime) = self.runtime.clone().or_else(|| Handle::try_current().ok()) else {
            return false;
        };
        let entries = self.entries.get_or_init(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            let (settings, waiting) = (self.settings.clone(), Arc::clone(&self.waiting));
            runtime.spawn(run_sender(settings, receiver, waiting));
            sender
        });
        entries.send(entry).is_ok()
    }
}

async fn run_sender(
    settings: TelemetrySettings,
    mut entries: mpsc::UnboundedReceiver<SpanQueueEntry>,
    waiting: Arc<AtomicUsize>,
) {
    let exporter = build_exporter(&settings);
    if let Err(reason) = &exporter {
        tracing::error!(reason, "traces cannot be sent");
    }
    let mut spans = Vec::new();
    while let Some(entry) = entries.recv().await {
        let until = Instant::now() + SEND_INTERVAL;
        let mut flush = accept_entry(entry, &mut spans);
        while flush.is_none() && spans.len() < MAX_BATCH_SPANS {
            match tokio::time::timeout_at(until, entries.recv()).await {
                Ok(Some(entry)) => flush = accept_entry(entry, &mut spans),
                Ok(None) | Err(_) => break,
            }
        }
        let batch = std::mem::take(&mut spans);
        let count = batch.len();
        if let Ok(exporter) = &exporter {
            export(exporter, batch).await;
        } else {
            count_dropped(count);
        }
        waiting.fetch_sub(count, Ordering::Relaxed);
        if let Some(flush) = flush {
            // The receiver may be gone.
            let _ = flush.send(());
        }
    }
}

fn accept_entry(entry: SpanQueueEntry, spans: &mut Vec<SpanData>) -> Option<oneshot::Sender<()>> {
    match entry {
        SpanQueueEntry::Flush(done) => Some(done),
        SpanQueueEntry::Spans(added) => {
            spans.extend(added);
            None
        }
    }
}

/// Sends spans; the exporter tries again if that may help.
async fn export(exporter: &SpanExporter, batch: Vec<SpanData>) {
    let spans = batch.len();
    if spans == 0 {
        return;
    }
    match exporter.export(batch).await {
        Ok(()) => metrics::counter!(SENT_METRIC).increment(spans as u64),
        Err(error) => {
            count_dropped(spans);
            tracing::warn!(spans, %error, "cannot send traces");
        }
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::SpanId;
    use opentelemetry::trace::{SpanContext, SpanKind};

    use super::super::span::EndedSpan;
    use super::*;

    fn spans(count: usize) -> Vec<SpanData> {
        let span = || EndedSpan::new(SpanContext::NONE, SpanId::INVALID, SpanKind::Client, "s");
        (0..count).map(|_| span().into_data()).collect()
    }

    /// The sender runs only while the test waits for something.
    #[tokio::test]
    async fn what_does_not_fit_is_dropped_whole_and_nobody_waits() {
        let queue = SpanQueue::new(TelemetrySettings::default());
        queue.add(spans(MAX_QUEUED_SPANS - 1));
        queue.add(spans(2));
        assert_eq!(queue.len(), MAX_QUEUED_SPANS - 1);
        queue.add(spans(1));
        assert_eq!(queue.len(), MAX_QUEUED_SPANS);
        queue.add(spans(1));
        assert_eq!(queue.len(), MAX_QUEUED_SPANS);
    }
}
