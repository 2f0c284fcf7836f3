//! State shared by all requests.
//!
//! What routes keep here stands in files that do not import this one. The HTTP service with
//! all routes is made in `http_service`.

use std::sync::Arc;

use prowess_engine::Engine;
use prowess_provider::{AnthropicSkills, Env};
use prowess_store::Store;
use tokio::sync::Notify;

use crate::audit::refusal_budget::RefusalBudget;
use crate::auth::key_activity::KeyActivity;
use crate::bodies::BodyBudget;
use crate::context::Metrics;
use crate::form::transfers::Transfers;
use crate::kept_runs::local_runs::LocalRuns;
use crate::limits::KeyRateLimits;
use crate::meter::ledger::UsageLedger;
use crate::route::discovery::archive_digests::ArchiveDigests;
use crate::route::gateway::socket::memory::SocketMemories;
use crate::route::gateway::socket::open_sockets::OpenSockets;
use crate::route::mcp::sessions::Mcp;
use crate::route::models::upstream_lists::UpstreamModelLists;
use crate::settings::ServerSettings;
use crate::telemetry::Telemetry;
use crate::tenant_requests::TenantRequests;

/// The server state. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct App(Arc<AppState>);

struct AppState {
    store: Store,
    engine: Engine,
    settings: ServerSettings,
    anthropic_skills: Option<AnthropicSkills>,
    transfers: Transfers,
    body_budget: BodyBudget,
    tenant_requests: TenantRequests,
    archive_digests: ArchiveDigests,
    key_activity: KeyActivity,
    metrics: Metrics,
    model_lists: UpstreamModelLists,
    ledger: UsageLedger,
    limits: KeyRateLimits,
    open_sockets: OpenSockets,
    socket_memories: SocketMemories,
    telemetry: Option<Telemetry>,
    mcp: Mcp,
    webhook_wake: Arc<Notify>,
    batch_wake: Arc<Notify>,
    local_runs: LocalRuns,
    refusal_budget: RefusalBudget,
}

impl App {
    /// A server over a store.
    pub fn new(store: Store, settings: ServerSettings) -> App {
        let account = settings.anthropic.clone();
        let anthropic_skills =
            account.map(|account| AnthropicSkills::new(account, Env::from_process()));
        let engine = Engine::with_providers(
            store.clone(),
            settings.runs.clone(),
            settings.sandbox.clone(),
            settings.providers.clone(),
        );
        let telemetry = settings.telemetry.clone().map(Telemetry::new);
        App(Arc::new(AppState {
            ledger: UsageLedger::new(store.clone()),
            limits: KeyRateLimits::default(),
            open_sockets: OpenSockets::default(),
            socket_memories: SocketMemories::default(),
            model_lists: UpstreamModelLists::default(),
            mcp: Mcp::new(),
            webhook_wake: Arc::default(),
            batch_wake: Arc::default(),
            local_runs: LocalRuns::new(),
            refusal_budget: RefusalBudget::default(),
            telemetry,
            store,
            engine,
            anthropic_skills,
            transfers: Transfers::new(&settings),
            body_budget: BodyBudget::new(&settings),
            tenant_requests: TenantRequests::new(settings.requests_per_tenant),
            archive_digests: ArchiveDigests::default(),
            key_activity: KeyActivity::default(),
            metrics: Metrics::install(),
            settings,
        }))
    }

    /// The store behind it.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// The engine that runs skills.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// Waits until usage rows are written and traces are sent.
    pub async fn flush(&self) {
        // The usage of long runs is written with their records.
        self.engine().flush_records().await;
        self.ledger().flush().await;
        if let Some(telemetry) = self.telemetry() {
            telemetry.flush().await;
        }
    }

    pub(crate) fn ledger(&self) -> &UsageLedger {
        &self.0.ledger
    }

    pub(crate) fn model_lists(&self) -> &UpstreamModelLists {
        &self.0.model_lists
    }

    pub(crate) fn open_sockets(&self) -> &OpenSockets {
        &self.0.open_sockets
    }

    /// Memory of WebSocket connections.
    pub(crate) fn socket_memories(&self) -> &SocketMemories {
        &self.0.socket_memories
    }

    pub(crate) fn limits(&self) -> &KeyRateLimits {
        &self.0.limits
    }

    pub(crate) fn telemetry(&self) -> Option<&Telemetry> {
        self.0.telemetry.as_ref()
    }

    pub(crate) fn mcp(&self) -> &Mcp {
        &self.0.mcp
    }

    /// Notified when a run with webhooks has ended, so that they are sent at once.
    pub(crate) fn webhook_wake(&self) -> &Arc<Notify> {
        &self.0.webhook_wake
    }

    /// The kept runs of this server.
    pub(crate) fn local_runs(&self) -> &LocalRuns {
        &self.0.local_runs
    }

    /// Notified when there may be more to schedule for batches.
    pub(crate) fn batch_wake(&self) -> &Arc<Notify> {
        &self.0.batch_wake
    }

    pub(crate) fn settings(&self) -> &ServerSettings {
        &self.0.settings
    }

    pub(crate) fn anthropic_skills(&self) -> Option<&AnthropicSkills> {
        self.0.anthropic_skills.as_ref()
    }

    pub(crate) fn transfers(&self) -> &Transfers {
        &self.0.transfers
    }

    pub(crate) fn body_budget(&self) -> &BodyBudget {
        &self.0.body_budget
    }

    pub(crate) fn tenant_requests(&self) -> &TenantRequests {
        &self.0.tenant_requests
    }

    pub(crate) fn archive_digests(&self) -> &ArchiveDigests {
        &self.0.archive_digests
    }

    pub(crate) fn key_activity(&self) -> &KeyActivity {
        &self.0.key_activity
    }

    /// Refused attempts that the audit log still takes.
    pub(crate) fn refusal_budget(&self) -> &RefusalBudget {
        &self.0.refusal_budget
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }
}
