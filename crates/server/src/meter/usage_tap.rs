//! What a run reports to its meter while it is in progress.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_engine::{RunStep, RunTotals};
use prowess_provider::Target;
use prowess_provider::config::Price;
use prowess_wire::neutral::TokenUsage;

use super::run_metrics;
use crate::limits::SpendReservation;
use crate::telemetry::{EndedRunSpans, RequestTrace, RunSpans};

/// Reports the usage of a run to its meter.
#[derive(Clone)]
pub(crate) struct UsageTap(Arc<TapState>);

struct TapState {
    price: Option<Price>,
    reservation: Option<SpendReservation>,
    spans: Option<SharedSpans>,
    run: Mutex<TappedRun>,
}

/// What a run has reported.
#[derive(Default)]
pub(super) struct TappedRun {
    pub(super) totals: RunTotals,
    /// The part of the tokens that servers before have used: the limits have it from its rows.
    pub(super) earlier: TokenUsage,
}

impl UsageTap {
    pub(super) fn new(
        price: Option<Price>,
        reservation: Option<SpendReservation>,
        spans: Option<SharedSpans>,
    ) -> UsageTap {
        UsageTap(Arc::new(TapState {
            price,
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
        run.totals.skills = Arc::clone(&totals.skills);
        let sum = &run.totals.tokens;
        if let Some(reservation) = &self.0.reservation {
            let (tokens, nanos) = used_since(&run.earlier, sum, self.0.price.as_ref());
            reservation.raise(tokens, nanos);
        }
    }

    /// Records what servers before have used of a run, which this one reads again.
    pub(crate) fn record_earlier_usage(&self, totals: &RunTotals) {
        self.0.run().earlier.clone_from(&totals.tokens);
        self.record_usage(totals);
    }

    /// Records a step of a run.
    pub(crate) fn record_step(&self, step: &RunStep) {
        record_step(step, self.0.spans.as_ref());
    }

    /// Tokens and cost of what was reported so far, without what servers before have used.
    pub(super) fn own_usage(&self) -> (u64, u64) {
        let run = self.0.run();
        used_since(&run.earlier, &run.totals.tokens, self.0.price.as_ref())
    }

    /// What was reported so far.
    pub(super) fn take(&self) -> TappedRun {
        std::mem::take(&mut *self.0.run())
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

/// Tokens and cost of what was used after `earlier`.
pub(super) fn used_since(
    earlier: &TokenUsage,
    usage: &TokenUsage,
    price: Option<&Price>,
) -> (u64, u64) {
    let cost = |usage| price.map_or(0, |price| price.cost_nanos(usage));
    (
        total_tokens(usage).saturating_sub(total_tokens(earlier)),
        cost(usage).saturating_sub(cost(earlier)),
    )
}

/// All tokens, input and output.
fn total_tokens(usage: &TokenUsage) -> u64 {
    usage.total_input().saturating_add(usage.output_tokens)
}
