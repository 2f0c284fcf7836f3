//! State shared by all requests: what lasts as long as the server, and what one reading of the
//! configuration gave.
//!
//! A request takes the current configuration once ([`App::current`]) and keeps it until it ends,
//! whatever is reloaded meanwhile. What routes keep here stands in files that do not import this
//! one. The HTTP service with all routes is made in `http_service`; `reload` reads the
//! configuration again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use prowess_engine::Engine;
use prowess_provider::{AnthropicSkills, Env};
use prowess_store::{Store, Timestamp};
use tokio::sync::{Notify, watch};

use crate::audit::refusal_budget::RefusalBudget;
use crate::auth::key_activity::KeyActivity;
use crate::bodies::BodyBudget;
use crate::cluster::link::ClusterLink;
use crate::context::Metrics;
use crate::doctor::{InstallationChecks, InstallationChecksSlot};
use crate::form::transfers::Transfers;
use crate::kept_runs::local_runs::LocalRuns;
use crate::limits::KeyRateLimits;
use crate::meter::ledger::UsageLedger;
use crate::pdf_pages::PdfPages;
use crate::reload::config_reader::Reloads;
use crate::reload::live_value::LiveValue;
use crate::route::discovery::archive_digests::ArchiveDigests;
use crate::route::gateway::socket::memory::SocketMemories;
use crate::route::gateway::socket::open_sockets::OpenSockets;
use crate::route::mcp::sessions::Mcp;
use crate::route::models::upstream_lists::UpstreamModelLists;
use crate::settings::ServerSettings;
use crate::telemetry::Telemetry;
use crate::tenant_requests::TenantRequests;

/// The server state, as one reading of the configuration made it. Cheap to clone; clones share
/// everything.
#[derive(Clone)]
pub struct App {
    state: Arc<AppState>,
    /// The state as the latest reading made it. Not part of the state, which would keep itself.
    live: Arc<LiveValue<AppState>>,
}

/// What one reading of the configuration gave.
struct AppState {
    server: Arc<ServerState>,
    /// Counts the readings that were accepted, from 1.
    generation: u64,
    read_at: Timestamp,
    engine: Engine,
    settings: ServerSettings,
    anthropic_skills: Option<AnthropicSkills>,
    transfers: Arc<Transfers>,
    body_budget: Arc<BodyBudget>,
    tenant_requests: TenantRequests,
    model_lists: UpstreamModelLists,
}

/// What lasts as long as the server.
struct ServerState {
    store: Store,
    archive_digests: ArchiveDigests,
    pdf_pages: PdfPages,
    key_activity: KeyActivity,
    metrics: Metrics,
    ledger: UsageLedger,
    limits: KeyRateLimits,
    open_sockets: OpenSockets,
    socket_memories: SocketMemories,
    telemetry: Option<Telemetry>,
    mcp: Mcp,
    webhook_wake: Arc<Notify>,
    batch_wake: Arc<Notify>,
    local_runs: LocalRuns,
    /// Who look into the store for events of runs that this server does not have.
    run_pollers: TenantRequests,
    refusal_budget: RefusalBudget,
    reloads: Reloads,
    installation_checks: InstallationChecksSlot,
    cluster: Option<ClusterLink>,
    is_draining: AtomicBool,
}

impl App {
    /// A server over a store.
    pub fn new(store: Store, settings: ServerSettings) -> App {
        let engine = Engine::with_providers(
            store.clone(),
            settings.engine_settings(),
            settings.sandbox.clone(),
            settings.providers.clone(),
        );
        let server = ServerState {
            ledger: UsageLedger::new(store.clone()),
            limits: KeyRateLimits::default(),
            open_sockets: OpenSockets::default(),
            socket_memories: SocketMemories::default(),
            mcp: Mcp::new(),
            webhook_wake: Arc::default(),
            batch_wake: Arc::default(),
            local_runs: LocalRuns::new(),
            run_pollers: TenantRequests::new(usize::MAX),
            refusal_budget: RefusalBudget::default(),
            telemetry: settings.telemetry.clone().map(Telemetry::new),
            archive_digests: ArchiveDigests::default(),
            pdf_pages: PdfPages::default(),
            key_activity: KeyActivity::default(),
            metrics: Metrics::install(),
            reloads: Reloads::default(),
            installation_checks: InstallationChecksSlot::default(),
            cluster: settings.cluster.clone().map(ClusterLink::new),
            is_draining: AtomicBool::new(false),
            store,
        };
        let state = Arc::new(AppState {
            server: Arc::new(server),
            generation: 1,
            read_at: Timestamp::now(),
            engine,
            anthropic_skills: anthropic_skills(&settings),
            transfers: Arc::new(Transfers::new(&settings)),
            body_budget: Arc::new(BodyBudget::new(&settings)),
            tenant_requests: TenantRequests::new(settings.requests_per_tenant),
            model_lists: UpstreamModelLists::default(),
            settings,
        });
        App {
            live: Arc::new(LiveValue::new(Arc::clone(&state))),
            state,
        }
    }

    /// The same server with the latest configuration. Who begins something takes it once.
    pub(crate) fn current(&self) -> App {
        App {
            state: self.live.load(),
            live: Arc::clone(&self.live),
        }
    }

    /// Makes everything that begins from now on use other settings. What is counted, limited or
    /// pooled for requests of both goes on.
    pub(crate) fn replace_settings(&self, settings: ServerSettings) -> App {
        let old = self.live.load();
        let providers = settings.providers.clone();
        let is_same =
            |same: fn(&ServerSettings, &ServerSettings) -> bool| same(&old.settings, &settings);
        let state = Arc::new(AppState {
            server: Arc::clone(&old.server),
            generation: old.generation.saturating_add(1),
            read_at: Timestamp::now(),
            engine: old
                .engine
                .with_settings(settings.engine_settings(), providers),
            anthropic_skills: anthropic_skills(&settings),
            transfers: match is_same(Transfers::has_same_bounds) {
                true => Arc::clone(&old.transfers),
                false => Arc::new(Transfers::new(&settings)),
            },
            body_budget: match is_same(BodyBudget::has_same_bounds) {
                true => Arc::clone(&old.body_budget),
                false => Arc::new(BodyBudget::new(&settings)),
            },
            tenant_requests: old.tenant_requests.with_limit(settings.requests_per_tenant),
            model_lists: UpstreamModelLists::default(),
            settings,
        });
        self.live.replace(state);
        self.current()
    }

    /// Changes when the configuration does.
    pub(crate) fn watch_settings(&self) -> watch::Receiver<u64> {
        self.live.subscribe()
    }

    /// The number of its configuration, counted from 1.
    pub(crate) fn generation(&self) -> u64 {
        self.state.generation
    }

    /// When its configuration was read.
    pub(crate) fn read_at(&self) -> Timestamp {
        self.state.read_at
    }

    pub(crate) fn reloads(&self) -> &Reloads {
        &self.state.server.reloads
    }

    /// Sets who makes the checks of `GET /v1/admin/doctor` that a server cannot make itself,
    /// once.
    pub fn set_installation_checks(&self, checks: Arc<dyn InstallationChecks>) {
        self.state.server.installation_checks.set(checks);
    }

    pub(crate) fn installation_checks(&self) -> Option<&dyn InstallationChecks> {
        self.state.server.installation_checks.get()
    }

    /// The store behind it.
    pub fn store(&self) -> &Store {
        &self.state.server.store
    }

    /// The engine that runs skills.
    pub fn engine(&self) -> &Engine {
        &self.state.engine
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
        &self.state.server.ledger
    }

    pub(crate) fn model_lists(&self) -> &UpstreamModelLists {
        &self.state.model_lists
    }

    pub(crate) fn open_sockets(&self) -> &OpenSockets {
        &self.state.server.open_sockets
    }

    /// Memory of WebSocket connections.
    pub(crate) fn socket_memories(&self) -> &SocketMemories {
        &self.state.server.socket_memories
    }

    pub(crate) fn limits(&self) -> &KeyRateLimits {
        &self.state.server.limits
    }

    pub(crate) fn telemetry(&self) -> Option<&Telemetry> {
        self.state.server.telemetry.as_ref()
    }

    pub(crate) fn mcp(&self) -> &Mcp {
        &self.state.server.mcp
    }

    /// Notified when a run with webhooks has ended, so that they are sent at once.
    pub(crate) fn webhook_wake(&self) -> &Arc<Notify> {
        &self.state.server.webhook_wake
    }

    /// The kept runs of this server.
    pub(crate) fn local_runs(&self) -> &LocalRuns {
        &self.state.server.local_runs
    }

    /// Those of each tenant who wait for runs that this server does not have.
    pub(crate) fn run_pollers(&self) -> &TenantRequests {
        &self.state.server.run_pollers
    }

    /// Notified when there may be more to schedule for batches.
    pub(crate) fn batch_wake(&self) -> &Arc<Notify> {
        &self.state.server.batch_wake
    }

    pub(crate) fn settings(&self) -> &ServerSettings {
        &self.state.settings
    }

    pub(crate) fn anthropic_skills(&self) -> Option<&AnthropicSkills> {
        self.state.anthropic_skills.as_ref()
    }

    pub(crate) fn transfers(&self) -> &Transfers {
        &self.state.transfers
    }

    pub(crate) fn body_budget(&self) -> &Arc<BodyBudget> {
        &self.state.body_budget
    }

    pub(crate) fn tenant_requests(&self) -> &TenantRequests {
        &self.state.tenant_requests
    }

    pub(crate) fn archive_digests(&self) -> &ArchiveDigests {
        &self.state.server.archive_digests
    }

    /// Pages of PDF files as pictures.
    pub(crate) fn pdf_pages(&self) -> &PdfPages {
        &self.state.server.pdf_pages
    }

    pub(crate) fn key_activity(&self) -> &KeyActivity {
        &self.state.server.key_activity
    }

    /// Refused attempts that the audit log still takes.
    pub(crate) fn refusal_budget(&self) -> &RefusalBudget {
        &self.state.server.refusal_budget
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.state.server.metrics
    }

    /// This server among the gateways of its cluster, if it is in one.
    pub(crate) fn cluster(&self) -> Option<&ClusterLink> {
        self.state.server.cluster.as_ref()
    }

    /// Whether the server stops: it finishes what it has, and others take what is new.
    pub(crate) fn is_draining(&self) -> bool {
        self.state.server.is_draining.load(Ordering::Relaxed)
    }

    /// Makes health checks and other gateways see that the server stops.
    pub(crate) fn begin_drain(&self) {
        self.state.server.is_draining.store(true, Ordering::Relaxed);
        if let Some(link) = self.cluster() {
            link.announce_change();
        }
    }
}

/// Skills at the configured account at Anthropic.
fn anthropic_skills(settings: &ServerSettings) -> Option<AnthropicSkills> {
    let account = settings.anthropic.clone()?;
    Some(AnthropicSkills::new(account, Env::from_process()))
}
