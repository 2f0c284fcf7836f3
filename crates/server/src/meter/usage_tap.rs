//! What a run reports to its meter while it is in progress.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_engine::{RunStep, RunTotals};
use prowess_provider::Target;
use prowess_wire::neutral::TokenUsage;

use super::run_metrics;
use crate::limits::SpendReservation;
use crate::telemetry::{EndedRunSpans, RequestTrace, RunSpans};

/// Reports the usage of a run to its meter.
#[derive(Clone)]
pub(crate) struct UsageTap(Arc<TapState>);

struct TapState {
    reservation: Option<SpendReservation>,
    spans: Option<SharedSpans>,
    run: Mutex<TappedRun>,
}

/// What a run has reported.
#[derive(Clone, Default)]
pub(super) struct TappedRun {
    pub(super) totals: RunTotals,
    /// The part that servers before have used: the limits have it from its rows.
    pub(super) earlier: RunTotals,
}

impl UsageTap {
    pub(super) fn new(
        reservation: Option<SpendReservation>,
        spans: Option<SharedSpans>,
    ) -> UsageTap {
        UsageTap(Arc::new(TapState {
            reservation,
            spans,
            run: Mutex::default(),
        }))
    }

    /// Records what a run has used so far.
    pub(crate) fn record_usage(&self, totals: &RunTotals) {
        let mut run = self.0.run();
        run.totals.tokens.merge_max(&totals.tokens);
        run.totals.sandbox_millis = totals.sandbox_millis;
        run.totals.cost_nanos = totals.cost_nanos;
        run.totals.skills = Arc::clone(&totals.skills);
        if let Some(reservation) = &self.0.reservation {
            let (tokens, nanos) = run.own_usage();
            reservation.raise(tokens, nanos);
        }
    }

    /// Records what servers before have used of a run, which this one reads again.
    pub(crate) fn record_earlier_usage(&self, totals: &RunTotals) {
        self.0.run().earlier.clone_from(totals);
        self.record_usage(totals);
    }

    /// Records a step of a run.
    pub(crate) fn record_step(&self, step: &RunStep) {
        record_step(step, self.0.spans.as_ref());
    }

    /// Tokens and cost of what was reported so far, without what servers before have used.
    pub(super) fn own_usage(&self) -> (u64, u64) {
        self.0.run().own_usage()
    }

    /// What was reported so far.
    pub(super) fn current(&self) -> TappedRun {
        self.0.run().clone()
    }
}

impl TappedRun {
    /// Tokens and cost of what was used on this server.
    fn own_usage(&self) -> (u64, u64) {
        let (all, earlier) = (&self.totals, &self.earlier);
        (
            total_tokens(&all.tokens).saturating_sub(total_tokens(&earlier.tokens)),
            all.cost_nanos.saturating_sub(earlier.cost_nanos),
        )
    }
}

impl TapState {
    fn run(&self) -> MutexGuard<'_, TappedRun> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds a step to the metrics, and to the spans if there are any.
pub(super) fn record_step(step: &RunStep, spans: Option<&SharedSpans>) {
    run_metrics::record_step(step);
    if let Some(spans) = spans
        && let Some(spans) = &mut *spans.lock()
    {
        spans.add_step(step);
    }
}

/// The spans of a run in progress, shared by its meter and its tap.
#[derive(Clone)]
pub(super) struct SharedSpans(Arc<Mutex<Option<RunSpans>>>);

impl SharedSpans {
    pub(super) fn new(
        trace: &RequestTrace,
        model: &str,
        content: bool,
        targets: &[Target],
    ) -> SharedSpans {
        let kinds = targets.iter().map(|target| {
            let provider = target.provider().to_owned();
            (provider, target.kind())
        });
        let spans = RunSpans::new(trace.clone(), model, content, kinds.collect());
        SharedSpans(Arc::new(Mutex::new(Some(spans))))
    }

    /// Ends the run. Later steps are ignored.
    pub(super) fn end(&self) -> EndedRunSpans {
        let spans = self.lock().take();
        spans.map(RunSpans::end).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Option<RunSpans>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All tokens, input and output.
pub(super) fn total_tokens(usage: &TokenUsage) -> u64 {
    usage.total_input().saturating_add(usage.output_tokens)
}
