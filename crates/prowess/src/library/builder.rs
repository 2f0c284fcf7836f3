//! Builds a [`Prowess`] from settings.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use prowess_engine::{Engine, EngineSettings, SandboxHandle};
use prowess_provider::Providers;
use prowess_provider::config::{ModelConfig, ProviderConfig, ProvidersConfig as Gateway};
use prowess_sandbox::{Sandbox, SandboxSettings};
use prowess_source::url::FetchOptions;
use prowess_store::{Store, StoreConfig, TenantId};

use super::{ClusterConnection, Error, Prowess, Shared};
use crate::config::{ClusterConfig, Config};

/// Settings of a [`Prowess`]. All are optional: by default, data is in a temporary folder,
/// models are those whose well-known key variables are set, and code runs in the native
/// sandbox.
#[derive(Default)]
pub struct Builder {
    store: Option<StoreConfig>,
    gateway: Gateway,
    runs: EngineSettings,
    sandbox: SandboxChoice,
    tune_sandbox: Option<TuneSandbox>,
    cluster: Option<ClusterConfig>,
    tenant: Option<TenantId>,
    fetch: FetchOptions,
}

/// Changes settings of the sandbox.
type TuneSandbox = Box<dyn FnOnce(&mut SandboxSettings) + Send>;

/// Whether and how code runs.
#[derive(Default)]
enum SandboxChoice {
    #[default]
    Default,
    /// From a configuration.
    Configured(Box<SandboxSettings>),
    Off,
}

impl Builder {
    /// Takes all settings from a configuration file.
    #[must_use]
    pub fn config(self, config: &Config) -> Self {
        Builder {
            store: Some(config.store.clone()),
            gateway: config.gateway.clone(),
            runs: config.run_settings(),
            sandbox: match config.sandbox.settings(config.sandbox.backend) {
                Some(settings) => SandboxChoice::Configured(Box::new(settings)),
                None => SandboxChoice::Off,
            },
            cluster: config.cluster.clone(),
            ..self
        }
    }

    /// The data directory: skills, files, records of runs.
    #[must_use]
    pub fn data_dir(self, folder: impl Into<PathBuf>) -> Self {
        self.store(StoreConfig::local(folder))
    }

    /// The store, if it is not one folder.
    #[must_use]
    pub fn store(mut self, config: StoreConfig) -> Self {
        self.store = Some(config);
        self
    }

    /// Adds a provider of models. Those whose well-known key variable is set are there
    /// already.
    #[must_use]
    pub fn provider(mut self, provider: ProviderConfig) -> Self {
        self.gateway.providers.push(provider);
        self
    }

    /// Adds a name for a model. `provider/model` needs none.
    #[must_use]
    pub fn model(mut self, model: ModelConfig) -> Self {
        self.gateway.models.push(model);
        self
    }

    /// Settings of runs: disclosure, limits, sandbox policy.
    #[must_use]
    pub fn runs(mut self, settings: EngineSettings) -> Self {
        self.runs = settings;
        self
    }

    /// Changes settings of the sandbox: those of a configuration, or the defaults. It does
    /// not enable a sandbox that is disabled. The native sandbox starts this program again, which
    /// then becomes part of the sandbox before its `main`, unless the settings name another
    /// `launcher`.
    #[must_use]
    pub fn sandbox(mut self, tune: impl FnOnce(&mut SandboxSettings) + Send + 'static) -> Self {
        self.tune_sandbox = Some(Box::new(tune));
        self
    }

    /// Disables code: skills can only be read.
    #[must_use]
    pub fn no_sandbox(mut self) -> Self {
        self.sandbox = SandboxChoice::Off;
        self
    }

    /// The tenant; `default` by default.
    #[must_use]
    pub fn tenant(mut self, tenant: TenantId) -> Self {
        self.tenant = Some(tenant);
        self
    }

    /// How skills are fetched from URLs.
    #[must_use]
    pub fn fetch(mut self, options: FetchOptions) -> Self {
        self.fetch = options;
        self
    }

    /// Opens the store, and opens the sandbox in the background; runs wait for it. If the
    /// configuration has a cluster, joins it instead. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// When providers are invalid, the store cannot be opened, or the cluster cannot be joined.
    pub fn open(self) -> BoxFuture<'static, Result<Prowess, Error>> {
        Box::pin(async move {
            let providers = Providers::new(self.gateway)?;
            let (config, temporary) = match self.store {
                Some(config) => (config, None),
                None => {
                    let folder = tempfile::tempdir().map_err(Error::NoFolder)?;
                    (StoreConfig::local(folder.path()), Some(folder))
                }
            };
            let store = Store::open(&config).await?;
            let settings = match self.sandbox {
                SandboxChoice::Off => None,
                SandboxChoice::Default => {
                    Some(SandboxSettings::new(config.data_dir.join("sandbox")))
                }
                SandboxChoice::Configured(settings) => Some(*settings),
            };
            let settings = settings.map(|mut settings| {
                if let Some(tune) = self.tune_sandbox {
                    tune(&mut settings);
                }
                settings
            });
            let cluster = match &self.cluster {
                Some(cluster) => Some(join_cluster(&store, cluster, settings.as_ref()).await?),
                None => None,
            };
            let sandbox_handle = match (settings, &cluster) {
                (None, _) => SandboxHandle::disabled("it is disabled"),
                (Some(_), Some(cluster)) => sandbox_of(cluster),
                (Some(settings), None) => SandboxHandle::opening(Sandbox::open(settings)),
            };
            Ok(Prowess(Arc::new(Shared {
                engine: Engine::with_providers(
                    store.clone(),
                    self.runs,
                    sandbox_handle,
                    Some(providers.clone()),
                ),
                store,
                providers,
                tenant: self.tenant.unwrap_or_else(TenantId::default_tenant),
                fetch: self.fetch,
                #[cfg(feature = "cluster")]
                cluster,
                _temporary: temporary,
            })))
        })
    }
}

#[cfg(feature = "cluster")]
async fn join_cluster(
    store: &Store,
    cluster: &ClusterConfig,
    sandbox: Option<&SandboxSettings>,
) -> Result<ClusterConnection, Error> {
    let joined = Box::pin(crate::cluster::join(store, cluster, sandbox)).await;
    joined.map_err(|why| Error::Cluster { why })
}

#[cfg(feature = "cluster")]
fn sandbox_of(cluster: &ClusterConnection) -> SandboxHandle {
    match cluster.sandboxes() {
        Some(sandboxes) => SandboxHandle::ready(sandboxes),
        None => SandboxHandle::disabled("it is disabled"),
    }
}

#[cfg(not(feature = "cluster"))]
async fn join_cluster(
    _: &Store,
    _: &ClusterConfig,
    _: Option<&SandboxSettings>,
) -> Result<ClusterConnection, Error> {
    let why = "this build has no clusters: build it with the feature `cluster`, or remove \
               [cluster] from the configuration";
    Err(Error::Cluster {
        why: why.to_owned(),
    })
}

#[cfg(not(feature = "cluster"))]
fn sandbox_of(cluster: &ClusterConnection) -> SandboxHandle {
    match *cluster {}
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("store", &self.store)
            .field("gateway", &self.gateway)
            .field("runs", &self.runs)
            .finish_non_exhaustive()
    }
}
