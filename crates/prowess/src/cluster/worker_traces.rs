//! Traces of a worker: its commands as spans, for the collector of its configuration.

use std::sync::Arc;
use std::time::Duration;

use prowess_server::{TelemetrySettings, WorkerCommand, WorkerTelemetry};
use prowess_worker::service::{CommandObserver, ObservedCommand};

/// The spans of a worker, on their way to a collector.
#[derive(Debug, Clone)]
pub struct WorkerTraces(Arc<WorkerTelemetry>);

impl WorkerTraces {
    pub(super) fn new(settings: TelemetrySettings, worker: &str) -> Self {
        WorkerTraces(Arc::new(WorkerTelemetry::new(settings, worker)))
    }

    /// Waits until all spans so far are sent or dropped, a few seconds at most.
    pub async fn flush(&self) {
        self.0.flush().await;
    }
}

impl CommandObserver for WorkerTraces {
    fn command_ended(&self, command: &ObservedCommand<'_>) {
        let parts = match command.end {
            Ok((_, timings)) => vec![
                ("prepare", Duration::from_millis(timings.prepare_ms)),
                ("run", Duration::from_millis(timings.run_ms)),
                ("store", Duration::from_millis(timings.store_ms)),
            ],
            Err(_) => Vec::new(),
        };
        self.0.record(&WorkerCommand {
            traceparent: command.traceparent,
            run: command.run,
            container: command.container,
            started_at: command.started_at,
            duration: command.duration,
            parts: &parts,
            end: command.end.map(|(outcome, _)| outcome),
        });
    }
}
