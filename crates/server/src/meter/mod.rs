//! Usage of one call to a model, from its arrival to the last byte of its response.
//!
//! A [`Meter`] accompanies a request and its stream. When it is dropped, for whatever reason,
//! it reports to the key's limits, to the [`ledger::UsageLedger`] (or to its run, if the store knows
//! of that already), to telemetry and to the metrics of skills. None of them is waited for.

pub(crate) mod ledger;
mod skill_metrics;
mod text_counter;
mod usage_scanner;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use prowess_engine::{RunStep, RunTotals, RunUsage, price_skill_costs};
use prowess_provider::config::Price;
use prowess_store::{KeyRecord, TenantId, UsageRow};
use prowess_wire::ClientDialect;
use prowess_wire::neutral::TokenUsage;

pub(crate) use usage_scanner::UsageScanner;

use crate::app::App;
use crate::auth::Principal;
use crate::limits::SpendReservation;
use crate::telemetry::{RequestSpan, ToolSpan, TraceParent};

/// Status of a response whose client left before its end.
const CLIENT_CLOSED_STATUS: u16 = 499;
/// Status of a response whose server died before its end.
const INTERRUPTED_STATUS: u16 = 500;
/// The model name in the row of a request that was not routed: what a client sends there is
/// unbounded.
const UNKNOWN_MODEL: &str = "(unknown)";
/// Calls of tools in the trace of one request; further ones are left out.
const MAX_TOOL_SPANS: usize = 128;
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
    parent: Option<TraceParent>,
    arrived: Instant,
    started_at: SystemTime,
    provider: String,
    provider_kind: &'static str,
    upstream_model: String,
    price: Option<Price>,
    status: u16,
    usage: TokenUsage,
    estimated: bool,
    error_code: Option<String>,
    is_disabled: bool,
    reservation: Option<SpendReservation>,
    tap: Option<UsageTap>,
    /// Whether the request and its tokens are in rows of their own.
    is_stored: bool,
    run: Option<RunUsage>,
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
            parent: None,
            arrived: Instant::now(),
            started_at: SystemTime::now(),
            provider: String::new(),
            provider_kind: "",
            upstream_model: String::new(),
            price: None,
            status: CLIENT_CLOSED_STATUS,
            usage: TokenUsage::default(),
            estimated: false,
            error_code: None,
            is_disabled: false,
            reservation: None,
            tap: None,
            is_stored: false,
            run: None,
        }))
    }

    pub(crate) fn set_streamed(&mut self, streamed: bool) {
        self.0.streamed = streamed;
    }

    /// The request and its tokens are in rows of their own, one for each turn.
    pub(crate) fn exclude_request(&mut self) {
        self.0.is_stored = true;
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

    /// Sets the client's span, whose trace is continued.
    pub(crate) fn set_parent(&mut self, parent: Option<TraceParent>) {
        self.0.parent = parent;
    }

    /// The model exists and the key may use it: the row may name it.
    pub(crate) fn mark_routed(&mut self) {
        self.0.routed = true;
    }

    /// Sets what the key's limits reserve for it.
    pub(crate) fn set_reservation(&mut self, reservation: Option<SpendReservation>) {
        self.0.reservation = reservation;
    }

    /// A handle that reports the usage of a run after each turn: the response has it only at
    /// its end, which may never come.
    pub(crate) fn usage_tap(&mut self) -> UsageTap {
        let tap = UsageTap(Arc::new(TapState {
            price: self.0.price.clone(),
            reservation: self.0.reservation.clone(),
            records_tools: self.0.app.telemetry().is_some(),
            run: Mutex::default(),
        }));
        self.0.tap = Some(tap.clone());
        tap
    }

    /// Disables this meter.
    pub(crate) fn disable(&mut self) {
        self.0.is_disabled = true;
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

    /// Sets the kind of provider, as in configuration files.
    pub(crate) fn set_provider_kind(&mut self, kind: &'static str) {
        self.0.provider_kind = kind;
    }

    /// Records usage; later counts of the same response are higher.
    pub(crate) fn record_usage(&mut self, usage: &TokenUsage) {
        self.0.usage.merge_max(usage);
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
            let cost = self.0.cost();
            self.0.settle(cost);
        }
    }

    /// The request failed with this status and error code.
    pub(crate) fn record_failure(&mut self, status: u16, code: &str) {
        self.0.status = status;
        self.0.error_code = Some(code.to_owned());
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let state = &mut *self.0;
        if state.is_disabled {
            return;
        }
        let mut run = TappedRun::default();
        if let Some(tap) = &state.tap {
            run = std::mem::take(&mut *tap.0.run());
            state.usage.merge_max(&run.totals.tokens);
            skill_metrics::record(&run.totals);
        }
        let cost = state.cost();
        state.settle(cost);
        if let Some(telemetry) = state.app.telemetry() {
            telemetry.record(state.span(run.tools));
        }
        let row = state.row(cost, &run.totals);
        let row = match state.run.take() {
            Some(run) => run.report(row),
            None => Some(row),
        };
        if let Some(row) = row {
            state.app.ledger().record(row);
        }
    }
}

impl MeterState {
    /// The cost in billionths, if there is a price.
    fn cost(&self) -> Option<u64> {
        let price = self.price.as_ref()?;
        Some(price.cost_nanos(&self.usage))
    }

    /// Exchanges the reservation for the actual usage.
    fn settle(&mut self, cost: Option<u64>) {
        let Some(reservation) = self.reservation.take() else {
            return;
        };
        match total_tokens(&self.usage) {
            0 if self.status == CLIENT_CLOSED_STATUS => reservation.settle_abandoned(),
            tokens => reservation.settle(tokens, cost.unwrap_or_default()),
        }
    }

    fn row(&mut self, cost: Option<u64>, run: &RunTotals) -> UsageRow {
        let no_usage = TokenUsage::default();
        let (usage, cost_nanos) = if self.is_stored {
            (&no_usage, 0)
        } else {
            (&self.usage, cost.unwrap_or_default())
        };
        let mut skills = match self.is_stored {
            true => Vec::new(),
            false => run.skills.to_vec(),
        };
        price_skill_costs(&mut skills, self.price.as_ref(), cost_nanos);
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
            sandbox_millis: if self.is_stored {
                0
            } else {
                run.sandbox_millis
            },
            skills,
        }
    }

    fn span(&self, tools: Vec<ToolSpan>) -> RequestSpan {
        RequestSpan {
            parent: self.parent.clone(),
            started_at: self.started_at,
            duration: self.arrived.elapsed(),
            dialect: self.client.as_str(),
            provider: self.provider.clone(),
            provider_kind: self.provider_kind,
            requested_model: self.model.clone(),
            response_model: self.upstream_model.clone(),
            streamed: self.streamed,
            status: self.status,
            error_code: self.error_code.clone(),
            usage: self.usage.clone(),
            tenant: self.tenant.as_str().to_owned(),
            key: self.key.as_ref().map(|key| key.id.clone()),
            tools,
        }
    }
}

/// Reports the usage of a run to its meter.
#[derive(Clone)]
pub(crate) struct UsageTap(Arc<TapState>);

struct TapState {
    price: Option<Price>,
    reservation: Option<SpendReservation>,
    /// Whether calls of tools are part of a trace.
    records_tools: bool,
    run: Mutex<TappedRun>,
}

/// What a run has reported.
#[derive(Default)]
struct TappedRun {
    totals: RunTotals,
    tools: Vec<ToolSpan>,
}

impl UsageTap {
    /// Records what a run has used so far.
    pub(crate) fn record_usage(&self, totals: &RunTotals) {
        let mut run = self.0.run();
        run.totals.tokens.merge_max(&totals.tokens);
        run.totals.sandbox_millis = totals.sandbox_millis;
        run.totals.skills = Arc::clone(&totals.skills);
        let sum = &run.totals.tokens;
        if let Some(reservation) = &self.0.reservation {
            let cost = self.0.price.as_ref().map(|price| price.cost_nanos(sum));
            reservation.raise(total_tokens(sum), cost.unwrap_or_default());
        }
    }

    /// Records a step of a run: calls of tools are part of the trace.
    pub(crate) fn record_step(&self, step: &RunStep) {
        if !self.0.records_tools {
            return;
        }
        let mut run = self.0.run();
        if run.tools.len() < MAX_TOOL_SPANS {
            run.tools.extend(ToolSpan::from_step(step));
        }
    }
}

impl TapState {
    fn run(&self) -> MutexGuard<'_, TappedRun> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All tokens, input and output.
fn total_tokens(usage: &TokenUsage) -> u64 {
    usage.total_input().saturating_add(usage.output_tokens)
}

fn truncate_model(model: &str) -> String {
    // Usually it is short and not scanned.
    if model.len() <= MAX_MODEL_CHARS {
        return model.to_owned();
    }
    model.chars().take(MAX_MODEL_CHARS).collect()
}
