//! Usage of one call to a model, from its arrival to the last byte of its response.
//!
//! A [`Meter`] accompanies a request and its stream. When it is dropped, for whatever reason,
//! it reports to the key's limits, to the [`ledger::UsageLedger`] (or to its run, if the store knows
//! of that already), to telemetry and to the metrics of runs. None of them is waited for.

mod details_scanner;
mod keyed_value;
mod label_set;
pub(crate) mod ledger;
mod run_metrics;
mod skill_metrics;
mod text_counter;
mod usage_metrics;
mod usage_scanner;
mod usage_tap;

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use prowess_engine::{RunStep, RunTotals, RunUsage, SpendCheck};
use prowess_provider::config::Price;
use prowess_provider::{RouteDecision, Target};
use prowess_store::{KeyRecord, TenantId, UsageRow};
use prowess_wire::ClientDialect;
use prowess_wire::neutral::TokenUsage;

pub(crate) use usage_scanner::UsageScanner;
pub(crate) use usage_tap::UsageTap;

use crate::app::App;
use crate::auth::Principal;
use crate::error::HttpError;
use crate::limits::SpendReservation;
use crate::telemetry::{RequestSpan, RequestTrace};
use usage_tap::{SharedSpans, TappedRun, total_tokens};

/// Status of a response whose client left before its end.
const CLIENT_CLOSED_STATUS: u16 = 499;
/// Status of a response whose server died before its end.
const INTERRUPTED_STATUS: u16 = 500;
/// The model name in the row of a request that was not routed: what a client sends there is
/// unbounded.
const UNKNOWN_MODEL: &str = "(unknown)";
/// Characters of a model name that are recorded; clients may send anything.
const MAX_MODEL_CHARS: usize = 200;

/// Measures one call to a model.
pub(crate) struct Meter(Box<MeterState>);

struct MeterState {
    app: App,
    tenant: TenantId,
    key: Option<Arc<KeyRecord>>,
    client: ClientDialect,
    model: String,
    /// Whether the model exists and the key may use it.
    routed: bool,
    streamed: bool,
    /// Its trace, if there is telemetry.
    trace: Option<Box<RequestTrace>>,
    /// What is asked of the model, in the words of OpenTelemetry's conventions.
    operation: &'static str,
    /// Why the provider was called, if there was a choice and there is telemetry.
    decision: Option<Box<RouteDecision>>,
    arrived: Instant,
    /// The time of day when it began, for its trace.
    started_at: Option<SystemTime>,
    provider: String,
    provider_kind: &'static str,
    upstream_model: String,
    price: Option<Price>,
    status: u16,
    usage: TokenUsage,
    estimated: bool,
    error_code: Option<String>,
    /// Whether the sender lost access before the response ended.
    is_cut_off: bool,
    is_disabled: bool,
    reservation: Option<SpendReservation>,
    tap: Option<UsageTap>,
    /// Whether the request and its tokens are in rows of their own.
    is_stored: bool,
    run: Option<RunUsage>,
    /// The run that it became.
    run_id: Option<String>,
    spans: Option<SharedSpans>,
}

impl Meter {
    /// For a request that was just read.
    pub(crate) fn start(
        app: &App,
        principal: &Principal,
        client: ClientDialect,
        model: &str,
        streamed: bool,
    ) -> Meter {
        let (tenant, key) = (&principal.tenant, principal.key());
        let mut meter = Meter::for_run(app, tenant, key, client, model);
        meter.set_streamed(streamed);
        meter
    }

    /// For a run without a request.
    pub(crate) fn for_run(
        app: &App,
        tenant: &TenantId,
        key: Option<&Arc<KeyRecord>>,
        client: ClientDialect,
        model: &str,
    ) -> Meter {
        Meter(Box::new(MeterState {
            app: app.clone(),
            tenant: tenant.clone(),
            key: key.cloned(),
            client,
            model: truncate_model(model),
            routed: false,
            streamed: false,
            trace: None,
            operation: "chat",
            decision: None,
            arrived: Instant::now(),
            started_at: None,
            provider: String::new(),
            provider_kind: "",
            upstream_model: String::new(),
            price: None,
            status: CLIENT_CLOSED_STATUS,
            usage: TokenUsage::default(),
            estimated: false,
            error_code: None,
            is_cut_off: false,
            is_disabled: false,
            reservation: None,
            tap: None,
            is_stored: false,
            run: None,
            run_id: None,
            spans: None,
        }))
    }

    pub(crate) fn set_streamed(&mut self, streamed: bool) {
        self.0.streamed = streamed;
    }

    /// The request and its tokens are in rows of their own, one for each turn.
    pub(crate) fn exclude_request(&mut self) {
        self.0.is_stored = true;
        if let Some(reservation) = &self.0.reservation {
            reservation.set_stored();
        }
    }

    /// A turn of its kept run has ended that cost this, and its row is about to be written.
    pub(crate) fn expect_row(&self, nanos: u64) {
        if let Some(reservation) = &self.0.reservation {
            reservation.expect_row(nanos);
        }
    }

    /// The usage row of the request, if this server dies before its end: who pays for it.
    pub(crate) fn interrupted_row(&self) -> UsageRow {
        let state = &*self.0;
        UsageRow {
            tenant: state.tenant.clone(),
            key: state.key.as_ref().map(|key| key.id.clone()),
            model: state.model.clone(),
            provider: String::new(),
            upstream_model: String::new(),
            dialect: state.client.as_str().to_owned(),
            status: INTERRUPTED_STATUS,
            requests: 1,
            unpriced: 1,
            estimated: 0,
            input_tokens: 0,
            output_tokens: 0,
            cache_read_tokens: 0,
            cache_write_tokens: 0,
            cost_nanos: 0,
            millis: 0,
            sandbox_millis: 0,
            skills: Vec::new(),
        }
    }

    /// The request is this run, and its usage is written with the end of the run.
    pub(crate) fn set_run(&mut self, run: Option<RunUsage>) {
        self.0.run = run;
    }

    /// Sets its trace, which begins now.
    pub(crate) fn set_trace(&mut self, trace: Option<Box<RequestTrace>>) {
        self.0.started_at = trace.is_some().then(SystemTime::now);
        self.0.trace = trace;
    }

    /// Its trace, if there is telemetry.
    pub(crate) fn trace(&self) -> Option<&RequestTrace> {
        self.0.trace.as_deref()
    }

    /// Sets what is asked of the model, in the words of OpenTelemetry's conventions.
    pub(crate) fn set_operation(&mut self, operation: &'static str) {
        self.0.operation = operation;
    }

    /// The request has become a run of this id, which calls these models.
    pub(crate) fn begin_run(&mut self, id: &str, targets: &[Target]) {
        let state = &mut *self.0;
        state.run_id = Some(id.to_owned());
        let trace = state.trace.as_ref().filter(|trace| trace.is_sampled());
        if let (Some(trace), Some(telemetry)) = (trace, state.app.telemetry()) {
            let content = telemetry.has_content();
            let spans = SharedSpans::new(trace, &state.model, content, targets);
            state.spans = Some(spans);
        }
    }

    /// Records a step of its run.
    pub(crate) fn record_step(&self, step: &RunStep) {
        usage_tap::record_step(step, self.0.spans.as_ref());
    }

    /// The model exists and the key may use it: the row may name it.
    pub(crate) fn mark_routed(&mut self) {
        self.0.routed = true;
    }

    /// Sets what the key's limits reserve for it.
    pub(crate) fn set_reservation(&mut self, reservation: Option<SpendReservation>) {
        self.0.reservation = reservation;
    }

    /// Takes what the key's limits reserve for it, to be replaced before anything is used.
    pub(crate) fn take_reservation(&mut self) -> Option<SpendReservation> {
        self.0.reservation.take()
    }

    /// Whether a run may go on after a turn: as long as its key has any budget left.
    pub(crate) fn spend_check(&self) -> Option<SpendCheck> {
        let reservation = self.0.reservation.clone()?;
        let check = move |spent| reservation.leaves_budget(spent);
        Some(SpendCheck::new(check))
    }

    /// A handle that reports the usage of a run after each turn: the response has it only at
    /// its end, which may never come.
    pub(crate) fn usage_tap(&mut self) -> UsageTap {
        let tap = UsageTap::new(self.0.reservation.clone(), self.0.spans.clone());
        self.0.tap = Some(tap.clone());
        tap
    }

    /// Disables this meter.
    pub(crate) fn disable(&mut self) {
        self.0.is_disabled = true;
    }

    /// Another server continues the run, and reports it. The key has used here what the turns
    /// took that this one made: the other does not count them again.
    pub(crate) fn give_up(&mut self) {
        if let (Some(tap), Some(reservation)) = (&self.0.tap, self.0.reservation.take()) {
            let (tokens, nanos) = tap.own_usage();
            reservation.settle(tokens, nanos);
        }
        self.disable();
    }

    /// Whether any usage is known.
    pub(crate) fn has_usage(&self) -> bool {
        let usage = &self.0.usage;
        usage.total_input() > 0 || usage.output_tokens > 0
    }

    /// Sets the target that responds, and its price.
    pub(crate) fn set_target(&mut self, provider: &str, model: &str, price: Option<&Price>) {
        provider.clone_into(&mut self.0.provider);
        self.0.upstream_model = truncate_model(model);
        self.0.price = price.cloned();
    }

    /// Whether a budget is charged nothing for this request, because its price is not known.
    pub(crate) fn is_uncharged(&self) -> bool {
        let state = &*self.0;
        let key = state.key.as_ref();
        state.price.is_none()
            && !state.is_disabled
            && key.is_some_and(|key| key.limits.budget.is_some())
    }

    /// The price of tokens does not tell what this request cost: it is counted as one without a
    /// price. What is free stays free.
    pub(crate) fn discard_price(&mut self) {
        self.0.price.take_if(|price| !price.is_free());
    }

    /// Sets the kind of provider, as in configuration files.
    pub(crate) fn set_provider_kind(&mut self, kind: &'static str) {
        self.0.provider_kind = kind;
    }

    /// Sets why the provider was called, for its span.
    pub(crate) fn set_decision(&mut self, decision: Option<&RouteDecision>) {
        if self.0.trace.is_some() {
            self.0.decision = decision.cloned().map(Box::new);
        }
    }

    /// Records usage; later counts of the same response are higher.
    pub(crate) fn record_usage(&mut self, usage: &TokenUsage) {
        self.0.usage.merge_max(usage);
    }

    /// Records the usage of the whole response, in place of what was counted at its start: some
    /// upstreams count input there that they later find in a cache.
    pub(crate) fn replace_usage(&mut self, usage: &TokenUsage) {
        self.0.usage.clone_from(usage);
    }

    /// Records our own estimate, when the upstream sends no counts.
    pub(crate) fn record_estimate(&mut self, usage: &TokenUsage) {
        self.0.usage.merge_max(usage);
        self.0.estimated = true;
    }

    /// The response has ended with this status; until then the client counts as gone.
    pub(crate) fn record_end(&mut self, status: u16) {
        self.0.status = status;
    }

    /// All usage is known, so the reservation is settled: the client may send its next request
    /// as soon as it receives the end of the response, and must not be blocked by its own
    /// reservation.
    pub(crate) fn record_end_and_settle(&mut self, status: u16) {
        self.record_end(status);
        if self.has_usage() {
            self.0.settle();
        }
    }

    /// The request failed with this status and error code.
    pub(crate) fn record_failure(&mut self, status: u16, code: &str) {
        self.0.status = status;
        self.0.error_code = Some(code.to_owned());
    }

    /// The sender lost access before the response ended, for this reason. What was used until
    /// then is charged, as if the client had left.
    pub(crate) fn record_lost_access(&mut self, refusal: &HttpError) {
        self.record_failure(refusal.status.as_u16(), refusal.code);
        self.0.is_cut_off = true;
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let state = &mut *self.0;
        if state.is_disabled {
            return;
        }
        let run = state.tapped_run();
        let totals = run.as_ref().map(|run| &run.totals);
        if let Some(totals) = totals {
            state.usage.merge_max(&totals.tokens);
            skill_metrics::record(totals);
        }
        let cost = state.cost(totals);
        state.settle();
        state.record_spans();
        let mut row = state.row(cost, totals);
        if state.run_id.is_some() {
            match state.report_run(row, cost) {
                Some(unreported) => row = unreported,
                None => return,
            }
        }
        state.app.ledger().record(row);
    }
}

impl MeterState {
    /// What its run has reported, if it is one.
    fn tapped_run(&self) -> Option<TappedRun> {
        self.tap.as_ref().map(UsageTap::current)
    }

    /// The cost in billionths, if there is a price. Turns of a run cost what their models do; what
    /// was used besides, in a turn that did not end, costs what the model does that was known last.
    fn cost(&self, run: Option<&RunTotals>) -> Option<u64> {
        let Some(price) = &self.price else {
            return run.map(|run| run.cost_nanos).filter(|nanos| *nanos > 0);
        };
        let Some(run) = run else {
            return Some(price.cost_nanos(&self.usage));
        };
        let besides = self.usage.since(&run.tokens);
        Some(run.cost_nanos.saturating_add(price.cost_nanos(&besides)))
    }

    /// Exchanges the reservation for the actual usage.
    fn settle(&mut self) {
        let Some(reservation) = self.reservation.take() else {
            return;
        };
        let (tokens, nanos) = match self.tapped_run() {
            None => {
                let nanos = self.cost(None).unwrap_or_default();
                (total_tokens(&self.usage), nanos)
            }
            Some(TappedRun { totals, earlier }) => {
                let mut used = self.usage.clone();
                used.merge_max(&totals.tokens);
                let tokens = total_tokens(&used).saturating_sub(total_tokens(&earlier.tokens));
                let nanos = self.cost(Some(&totals)).unwrap_or_default();
                (tokens, nanos.saturating_sub(earlier.cost_nanos))
            }
        };
        let has_left = self.status == CLIENT_CLOSED_STATUS || self.is_cut_off;
        match tokens {
            0 if has_left => reservation.settle_abandoned(),
            tokens => reservation.settle(tokens, nanos),
        }
    }

    fn row(&mut self, cost: Option<u64>, run: Option<&RunTotals>) -> UsageRow {
        let no_usage = TokenUsage::default();
        let (usage, cost_nanos) = if self.is_stored {
            (&no_usage, 0)
        } else {
            (&self.usage, cost.unwrap_or_default())
        };
        let run = run.filter(|_| !self.is_stored);
        let requests = u64::from(!self.is_stored);
        UsageRow {
            tenant: self.tenant.clone(),
            key: self.key.as_ref().map(|key| key.id.clone()),
            model: if self.routed {
                std::mem::take(&mut self.model)
            } else {
                UNKNOWN_MODEL.to_owned()
            },
            provider: std::mem::take(&mut self.provider),
            upstream_model: std::mem::take(&mut self.upstream_model),
            dialect: self.client.as_str().to_owned(),
            status: self.status,
            requests,
            unpriced: requests * u64::from(cost.is_none()),
            estimated: u64::from(self.estimated),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_input_tokens,
            cache_write_tokens: usage.cache_creation_input_tokens,
            cost_nanos,
            millis: u64::try_from(self.arrived.elapsed().as_millis()).unwrap_or(u64::MAX),
            sandbox_millis: run.map_or(0, |run| run.sandbox_millis),
            // Priced turn by turn, as the whole run is.
            skills: run.map(|run| run.skills.to_vec()).unwrap_or_default(),
        }
    }

    /// Reports what a run used with the run, if the store knows of it, and to the metrics.
    /// Returns the row if the ledger is to write it, which then counts it.
    fn report_run(&mut self, row: UsageRow, cost: Option<u64>) -> Option<UsageRow> {
        let outcome = match self.status {
            CLIENT_CLOSED_STATUS => "left",
            0..400 => "completed",
            _ => "failed",
        };
        run_metrics::record_end(outcome, self.arrived.elapsed());
        if self.is_stored {
            usage_metrics::record(&UsageRow {
                requests: 1,
                unpriced: u64::from(cost.is_none()),
                input_tokens: self.usage.input_tokens,
                output_tokens: self.usage.output_tokens,
                cache_read_tokens: self.usage.cache_read_input_tokens,
                cache_write_tokens: self.usage.cache_creation_input_tokens,
                cost_nanos: cost.unwrap_or_default(),
                ..row.clone()
            });
        }
        let Some(run) = self.run.take() else {
            return Some(row);
        };
        let counted = row.clone();
        let unreported = run.report(row);
        if unreported.is_none() {
            usage_metrics::record(&counted);
        }
        unreported
    }

    /// Sends the span of the request, and those of its run.
    fn record_spans(&mut self) {
        let trace = self.trace.take().filter(|trace| trace.is_sampled());
        let (Some(trace), Some(started_at)) = (trace, self.started_at) else {
            return;
        };
        let Some(telemetry) = self.app.telemetry() else {
            return;
        };
        let ended = self.spans.take().map(|spans| spans.end());
        let ended = ended.unwrap_or_default();
        let request = RequestSpan {
            trace: &trace,
            operation: self.operation,
            run: self.run_id.as_deref(),
            left_out: ended.left_out,
            skills: &ended.skills,
            started_at,
            duration: self.arrived.elapsed(),
            dialect: self.client.as_str(),
            provider: &self.provider,
            provider_kind: self.provider_kind,
            requested_model: &self.model,
            response_model: &self.upstream_model,
            streamed: self.streamed,
            status: self.status,
            error_code: self.error_code.as_deref(),
            usage: &self.usage,
            tenant: self.tenant.as_str(),
            key: self.key.as_ref().map(|key| key.id.as_str()),
            decision: self.decision.as_deref(),
        };
        let mut spans = ended.spans;
        spans.insert(0, request.into_data());
        telemetry.record(spans);
    }
}

fn truncate_model(model: &str) -> String {
    // Usually it is short and not scanned.
    if model.len() <= MAX_MODEL_CHARS {
        return model.to_owned();
    }
    model.chars().take(MAX_MODEL_CHARS).collect()
}
