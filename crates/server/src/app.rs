//! What all requests share.

use std::sync::Arc;

use prowess_engine::Engine;
use prowess_store::Store;

use crate::auth::Visits;
use crate::bodies::BodyBudget;
use crate::context::Metrics;
use crate::form::Transfers;
use crate::front::Front;
use crate::limits::Limits;
use crate::meter::Ledger;
use crate::requests::TenantRequests;
use crate::route::discovery::Archives;
use crate::route::{self, Mcp, OpenSockets, SocketMemories, UpstreamLists};
use crate::settings::Settings;
use crate::telemetry::Telemetry;
use crate::upstream::Upstream;

/// The server's state. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct App(Arc<Shared>);

struct Shared {
    store: Store,
    engine: Engine,
    settings: Settings,
    upstream: Option<Upstream>,
    transfers: Transfers,
    bodies: BodyBudget,
    requests: TenantRequests,
    archives: Archives,
    visits: Visits,
    metrics: Metrics,
    model_lists: UpstreamLists,
    ledger: Ledger,
    limits: Limits,
    open_sockets: OpenSockets,
    socket_memories: SocketMemories,
    telemetry: Option<Telemetry>,
    mcp: Mcp,
}

impl App {
    /// A server over a store.
    pub fn new(store: Store, settings: Settings) -> App {
        let upstream = settings.anthropic.clone().map(Upstream::new);
        let engine = Engine::new(
            store.clone(),
            settings.runs.clone(),
            settings.sandbox.clone(),
        );
        let telemetry = settings.telemetry.clone().map(Telemetry::new);
        App(Arc::new(Shared {
            ledger: Ledger::new(store.clone()),
            limits: Limits::default(),
            open_sockets: OpenSockets::default(),
            socket_memories: SocketMemories::default(),
            model_lists: UpstreamLists::default(),
            mcp: Mcp::new(),
            telemetry,
            store,
            engine,
            upstream,
            transfers: Transfers::new(&settings),
            bodies: BodyBudget::new(&settings),
            requests: TenantRequests::new(settings.requests_per_tenant),
            archives: Archives::default(),
            visits: Visits::default(),
            metrics: Metrics::install(),
            settings,
        }))
    }

    /// All routes.
    pub fn front(&self) -> Front {
        Front::new(self.clone(), route::router(self.clone()))
    }

    /// The store behind it.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// What runs skills.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// Waits until what requests used so far has been written down, and their traces
    /// sent.
    pub async fn settle(&self) {
        self.ledger().flush().await;
        if let Some(telemetry) = self.telemetry() {
            telemetry.flush().await;
        }
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    pub(crate) fn model_lists(&self) -> &UpstreamLists {
        &self.0.model_lists
    }

    pub(crate) fn open_sockets(&self) -> &OpenSockets {
        &self.0.open_sockets
    }

    /// What connections that are WebSockets remember.
    pub(crate) fn socket_memories(&self) -> &SocketMemories {
        &self.0.socket_memories
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub(crate) fn telemetry(&self) -> Option<&Telemetry> {
        self.0.telemetry.as_ref()
    }

    pub(crate) fn mcp(&self) -> &Mcp {
        &self.0.mcp
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn upstream(&self) -> Option<&Upstream> {
        self.0.upstream.as_ref()
    }

    pub(crate) fn transfers(&self) -> &Transfers {
        &self.0.transfers
    }

    pub(crate) fn bodies(&self) -> &BodyBudget {
        &self.0.bodies
    }

    pub(crate) fn requests(&self) -> &TenantRequests {
        &self.0.requests
    }

    pub(crate) fn archives(&self) -> &Archives {
        &self.0.archives
    }

    pub(crate) fn visits(&self) -> &Visits {
        &self.0.visits
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }
}
