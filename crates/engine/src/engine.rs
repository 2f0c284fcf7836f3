//! The engine: what all runs share. Its entry points are in `entry`.

use std::sync::Arc;

use prowess_provider::{ClientCredentials, Providers, Route};
use prowess_store::{Store, TenantId};
use prowess_toolbox::Member;
use prowess_wire::ClientDialect;
use prowess_wire::neutral::Request;

use crate::containers::foreground_containers::ForegroundContainers;
use crate::containers::sandbox_handle::SandboxHandle;
use crate::intake::offer_memory::OfferMemory;
use crate::intake::unpack_permits::UnpackPermits;
use crate::record::RunRecorder;
use crate::settings::EngineSettings;
use crate::skill_vectors::SkillEmbedder;
use crate::spend_check::SpendCheck;

/// What all runs share. Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub struct Engine(Arc<EngineInner>);

#[derive(Debug)]
struct EngineInner {
    store: Store,
    settings: EngineSettings,
    sandbox: SandboxHandle,
    recorder: RunRecorder,
    unpacking: Arc<UnpackPermits>,
    offers: Arc<OfferMemory>,
    foreground_containers: ForegroundContainers,
    embedder: Option<SkillEmbedder>,
}

/// A request to be run.
#[derive(Debug)]
pub struct RunRequest {
    /// The tenant whose skills, files and containers are used.
    pub tenant: TenantId,
    /// The dialect of the client.
    pub client: ClientDialect,
    /// The request.
    pub request: Request,
    /// Skills that are already loaded, after those that the request names.
    pub members: Vec<Member>,
    /// Whether the run may use all stored skills of its tenant although its request does not
    /// say `auto`. `None`: as [`EngineSettings::auto`] says.
    pub auto: Option<bool>,
    /// Turns of the model after which the run pauses, if fewer than [`RunLimits::turns`] allow.
    ///
    /// [`RunLimits::turns`]: crate::RunLimits::turns
    pub max_turns: Option<u32>,
    /// Whether the run may go on after a turn, by what it has cost; `None` if it may spend
    /// anything.
    pub spend_check: Option<SpendCheck>,
    /// The models to call.
    pub route: Route,
    /// What of the client's credentials and headers is passed to the provider.
    pub credentials: ClientCredentials,
}

impl Engine {
    /// An engine over a store and a sandbox.
    #[must_use]
    pub fn new(store: Store, settings: EngineSettings, sandbox: SandboxHandle) -> Self {
        Self::with_providers(store, settings, sandbox, None)
    }

    /// An engine that can call the model of [`EngineSettings::embedding`].
    #[must_use]
    pub fn with_providers(
        store: Store,
        settings: EngineSettings,
        sandbox: SandboxHandle,
        providers: Option<Providers>,
    ) -> Self {
        let embedding = providers.zip(settings.embedding.clone());
        Engine(Arc::new(EngineInner {
            embedder: embedding.map(|(providers, own)| SkillEmbedder::new(providers, own)),
            recorder: RunRecorder::new(store.clone()),
            unpacking: Arc::default(),
            offers: Arc::default(),
            foreground_containers: ForegroundContainers::default(),
            store,
            settings,
            sandbox,
        }))
    }

    /// An engine with other settings and providers, over the same store and sandbox. Both write
    /// the records of their runs by one queue, and share the limit on skills that are unpacked,
    /// what conversations were offered and which containers are used.
    #[must_use]
    pub fn with_settings(&self, settings: EngineSettings, providers: Option<Providers>) -> Self {
        let embedding = providers.zip(settings.embedding.clone());
        Engine(Arc::new(EngineInner {
            embedder: embedding.map(|(providers, own)| SkillEmbedder::new(providers, own)),
            recorder: self.0.recorder.clone(),
            unpacking: Arc::clone(&self.0.unpacking),
            offers: Arc::clone(&self.0.offers),
            foreground_containers: self.0.foreground_containers.clone(),
            store: self.0.store.clone(),
            settings,
            sandbox: self.0.sandbox.clone(),
        }))
    }

    /// The operator's settings.
    #[must_use]
    pub fn settings(&self) -> &EngineSettings {
        &self.0.settings
    }

    /// The sandbox, or why there is none.
    #[must_use]
    pub fn sandbox_handle(&self) -> &SandboxHandle {
        &self.0.sandbox
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn embedder(&self) -> Option<&SkillEmbedder> {
        self.0.embedder.as_ref()
    }

    pub(crate) fn unpacking(&self) -> &UnpackPermits {
        &self.0.unpacking
    }

    pub(crate) fn offers(&self) -> &OfferMemory {
        &self.0.offers
    }

    pub(crate) fn foreground_containers(&self) -> &ForegroundContainers {
        &self.0.foreground_containers
    }

    pub(crate) fn recorder(&self) -> &RunRecorder {
        &self.0.recorder
    }
}
