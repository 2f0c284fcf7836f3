//! Metrics of what the server has or does at the moment: read when they are asked for, so that
//! requests do nothing for them.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use metrics::{counter, gauge};
use prowess_engine::SandboxStatistics;
use prowess_provider::{BreakerPosition, ProviderHealth, TargetHealth};

use crate::app::App;
use crate::cluster::link::ClusterLink;
use crate::cluster::member_state::MemberState;
use crate::cluster::view::ClusterWorker;

/// The label of a provider's models that have no entry of their own.
const OTHER_MODELS: &str = "(other)";

/// Providers and models that have series.
static SHOWN: LazyLock<Mutex<HashSet<TargetLabels>>> = LazyLock::new(Mutex::default);

/// A provider, the entry of a model, and the deployment of it.
type TargetLabels = [(&'static str, String); 3];

/// Updates all of them.
pub(super) async fn record(app: &App) {
    gauge!("prowess_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    record_store(app).await;
    let providers = app.settings().providers.as_ref();
    record_providers(&providers.map(|all| all.health()).unwrap_or_default());
    if let Some(sandbox) = app.settings().sandbox.statistics() {
        record_sandbox(&sandbox);
    }
    record_cluster(app);
    gauge!("prowess_kept_runs_running").set(as_number(app.local_runs().running()));
    gauge!("prowess_usage_rows_pending").set(as_number(app.ledger().pending()));
    if let Some(telemetry) = app.telemetry() {
        gauge!("prowess_spans_queued").set(as_number(telemetry.queued()));
    }
}

async fn record_store(app: &App) {
    let is_ready = app.store().check_ready().await.is_ok();
    gauge!("prowess_store_ready").set(f64::from(u8::from(is_ready)));
    let (open, idle) = app.store().connections();
    gauge!("prowess_store_connections", "state" => "idle").set(as_number(idle));
    gauge!("prowess_store_connections", "state" => "busy")
        .set(as_number(open.saturating_sub(idle)));
}

fn record_providers(providers: &[ProviderHealth]) {
    let mut gone = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut shown = HashSet::new();
    for provider in providers {
        for target in &provider.targets {
            let model = target.model.as_deref().unwrap_or(OTHER_MODELS);
            let deployment = target.deployment.as_ref();
            let deployment = deployment.map_or("", |one| one.upstream_model.as_str());
            let labels = [
                ("provider", provider.name.clone()),
                ("model", model.to_owned()),
                ("deployment", deployment.to_owned()),
            ];
            record_target(&labels, target);
            gone.remove(&labels);
            shown.insert(labels);
        }
    }
    // What the configuration does not have any more is in no state.
    for labels in gone.drain() {
        record_state(&labels, 0, 0.0, Duration::ZERO);
    }
    *gone = shown;
}

fn record_target(labels: &TargetLabels, target: &TargetHealth) {
    counter!("prowess_provider_calls_total", labels).absolute(target.attempts);
    for (class, count) in &target.failures {
        let mut by_class = labels.to_vec();
        by_class.push(("class", (*class).to_owned()));
        counter!("prowess_provider_failures_total", &by_class).absolute(*count);
    }
    if let Some(latency) = target.average_latency {
        gauge!("prowess_provider_latency_seconds", labels).set(latency.as_secs_f64());
    }
    let (breaker, cooldown) = match target.breaker {
        BreakerPosition::Closed => (0.0, Duration::ZERO),
        BreakerPosition::HalfOpen => (1.0, Duration::ZERO),
        BreakerPosition::Open { retry_in } => (2.0, retry_in),
    };
    let passed_over = target.deployment.as_ref();
    let passed_over = passed_over.and_then(|deployment| deployment.cooldown_left);
    let cooldown = cooldown.max(passed_over.unwrap_or_default());
    record_state(labels, target.in_flight, breaker, cooldown);
}

fn record_state(labels: &TargetLabels, in_flight: u64, breaker: f64, cooldown: Duration) {
    gauge!("prowess_provider_in_flight", labels).set(in_flight as f64);
    gauge!("prowess_provider_breaker_state", labels).set(breaker);
    gauge!("prowess_provider_cooldown_seconds", labels).set(cooldown.as_secs_f64());
}

fn record_sandbox(sandbox: &SandboxStatistics) {
    for (outcome, count) in sandbox.commands {
        counter!("prowess_sandbox_commands_total", "outcome" => outcome).absolute(count);
    }
    counter!("prowess_sandbox_command_milliseconds_total").absolute(millis(sandbox.run_time));
    counter!("prowess_sandbox_wait_milliseconds_total").absolute(millis(sandbox.wait_time));
    gauge!("prowess_sandbox_running").set(as_number(sandbox.running));
    gauge!("prowess_sandbox_waiting").set(as_number(sandbox.waiting));
    gauge!("prowess_sandbox_warm").set(as_number(sandbox.warm));
}

/// Without a cluster there is one gateway, and nothing to be disconnected from.
fn record_cluster(app: &App) {
    let link = app.cluster();
    let is_connected = link.is_none_or(ClusterLink::is_connected);
    gauge!("prowess_bus_connected").set(f64::from(u8::from(is_connected)));
    let bus = link.map(ClusterLink::statistics).unwrap_or_default();
    counter!("prowess_bus_messages_total", "direction" => "published").absolute(bus.published);
    counter!("prowess_bus_messages_total", "direction" => "received").absolute(bus.received);
    counter!("prowess_bus_lost_total").absolute(bus.dropped);
    counter!("prowess_bus_reconnects_total").absolute(bus.reconnects);
    let others = link.map(ClusterLink::other_gateways).unwrap_or_default();
    let mut states = vec![MemberState::new(true, app.is_draining())];
    states.extend(others.iter().map(MemberState::from_gateway));
    record_members("prowess_cluster_gateways", &states);
    let workers = link.and_then(ClusterLink::workers).unwrap_or_default();
    let states: Vec<MemberState> = workers.iter().map(MemberState::from_worker).collect();
    record_members("prowess_cluster_workers", &states);
    let alive = || workers.iter().filter(|worker| worker.is_alive);
    let sum = |count: fn(&ClusterWorker) -> usize| as_number(alive().map(count).sum());
    gauge!("prowess_cluster_slots").set(sum(|worker| worker.slots));
    gauge!("prowess_cluster_commands", "state" => "running").set(sum(|worker| worker.running));
    gauge!("prowess_cluster_commands", "state" => "waiting").set(sum(|worker| worker.waiting));
}

fn record_members(name: &'static str, states: &[MemberState]) {
    for state in MemberState::ALL {
        let members = states.iter().filter(|found| **found == state).count();
        gauge!(name, "state" => state.as_str()).set(as_number(members));
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn as_number(count: usize) -> f64 {
    count as f64
}
