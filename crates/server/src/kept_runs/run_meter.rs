//! The meter of a kept run: target and usage become known while it runs.

use std::sync::{Mutex, PoisonError};

use axum::http::HeaderMap;
use prowess_engine::{RunEvent, RunStep, SpendCheck};
use prowess_provider::Target;

use crate::meter::{Meter, UsageTap};

/// Follows the events of a run.
pub(super) struct RunMeter {
    targets: Vec<Target>,
    state: Mutex<MeterState>,
}

struct MeterState {
    meter: Meter,
    tap: Option<UsageTap>,
    /// Whether the turn is read that a server before has made.
    is_replayed: bool,
}

impl RunMeter {
    pub(super) fn new(mut meter: Meter, run: &str, targets: Vec<Target>) -> Self {
        meter.begin_run(run, &targets);
        RunMeter {
            targets,
            state: Mutex::new(MeterState {
                meter,
                tap: None,
                is_replayed: false,
            }),
        }
    }

    /// Names the span of the run in the headers of requests to providers, if there is one.
    pub(super) fn write_trace(&self, headers: &mut HeaderMap) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(trace) = state.meter.trace() {
            trace.write_headers(headers);
        }
    }

    /// Whether the run may go on after a turn.
    pub(super) fn spend_check(&self) -> Option<SpendCheck> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.meter.spend_check()
    }

    /// Takes an event that is not part of the response.
    pub(super) fn observe(&self, event: &RunEvent) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let RunEvent::Step(step) = event {
            state.meter.record_step(step);
        }
        match event {
            RunEvent::Step(RunStep::TurnStarted(turn)) => {
                state.is_replayed = turn.called_at.is_none();
                let meter = &mut state.meter;
                meter.set_target(&turn.provider, &turn.model, turn.price.as_ref());
                let mut targets = self.targets.iter();
                if let Some(target) = targets.find(|target| target.provider() == turn.provider) {
                    meter.set_provider_kind(target.kind());
                }
            }
            RunEvent::Usage(usage) => {
                let MeterState {
                    meter,
                    tap,
                    is_replayed,
                } = &mut *state;
                // The stored turns have the tokens, and count the request.
                meter.exclude_request();
                let tap = tap.get_or_insert_with(|| meter.usage_tap());
                match is_replayed {
                    true => tap.record_earlier_usage(usage),
                    false => tap.record_usage(usage),
                }
            }
            _ => {}
        }
    }

    /// The run has ended with this status, and code if it failed.
    pub(super) fn end(&self, status: u16, code: Option<&str>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match code {
            None => state.meter.record_end(status),
            Some(code) => state.meter.record_failure(status, code),
        }
    }

    /// Another server continues the run, and reports it.
    pub(super) fn give_up(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.meter.give_up();
    }
}
