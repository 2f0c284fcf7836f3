//! Spans of a worker of a cluster: a command that it ran, below the gateway's span of it, and
//! where its time went. Must not know how commands are run.

use std::fmt;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{SpanKind, TraceState};
use prowess_engine::CommandOutcome;

use super::queue::SpanQueue;
use super::request_trace::RequestTrace;
use super::run_spans::with_outcome;
use super::settings::TelemetrySettings;
use super::span::EndedSpan;
use super::trace_parent::parse_parent;

/// Collects the spans of a worker and has them sent.
pub struct WorkerTelemetry {
    worker: String,
    queue: SpanQueue,
}

/// A command that a worker has ended.
#[derive(Debug, Clone)]
pub struct WorkerCommand<'a> {
    /// The gateway's span of it, as a W3C trace context.
    pub traceparent: &'a str,
    /// The run that it belongs to.
    pub run: Option<&'a str>,
    /// Its container.
    pub container: &'a str,
    /// When the worker accepted it.
    pub started_at: SystemTime,
    /// How long it took from then on.
    pub duration: Duration,
    /// What that time was used for, in this order, each with its name.
    pub parts: &'a [(&'static str, Duration)],
    /// How it ended, or the code of the error.
    pub end: Result<CommandOutcome, &'a str>,
}

impl WorkerTelemetry {
    /// For the worker of this name. Nothing is sent, or runs, before the first span.
    #[must_use]
    pub fn new(settings: TelemetrySettings, worker: impl Into<String>) -> Self {
        WorkerTelemetry {
            worker: worker.into(),
            queue: SpanQueue::new(settings),
        }
    }

    /// Records the spans of a command, unless the gateway does not send those of its trace, or
    /// the queue is full. Must be called within a runtime.
    pub fn record(&self, command: &WorkerCommand<'_>) {
        let parent = parse_parent(command.traceparent, || TraceState::NONE);
        let Some(parent) = parent.filter(|parent| parent.is_sampled()) else {
            return;
        };
        let trace = RequestTrace::below(&parent);
        let (context, parent) = (trace.context.clone(), trace.parent);
        let span = EndedSpan::new(context, parent, SpanKind::Server, "worker command")
            .below_remote()
            .time(command.started_at, command.duration)
            .with("prowess.worker", self.worker.clone())
            .with("prowess.container", command.container.to_owned())
            .with_some("prowess.run", command.run.map(str::to_owned));
        let span = match command.end {
            Ok(outcome) => with_outcome(span, outcome),
            Err(code) => span
                .with("error.type", code.to_owned())
                .failed("the command was not run to its end"),
        };
        let id = span.id();
        let mut spans = vec![span.into_data()];
        let mut started_at = command.started_at;
        for (name, duration) in command.parts {
            let part = EndedSpan::new(trace.child(None), id, SpanKind::Internal, *name);
            spans.push(part.time(started_at, *duration).into_data());
            started_at = started_at.checked_add(*duration).unwrap_or(started_at);
        }
        self.queue.add(spans);
    }

    /// Waits until all spans so far are sent or dropped, a few seconds at most.
    pub async fn flush(&self) {
        self.queue.flush().await;
    }
}

impl fmt::Debug for WorkerTelemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerTelemetry")
            .field("worker", &self.worker)
            .finish_non_exhaustive()
    }
}
