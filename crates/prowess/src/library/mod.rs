//! Prowess as a library: requests with skills, without a server.
//!
//! | module | owns |
//! |---|---|
//! | `builder` | builds a [`Prowess`] from settings |
//! | `request` | a prompt and the skills it names |
//! | `skills` | loads the skills of folders, archives and URLs |
//! | `run` | the events of a run, and its output |
//! | `ask` | a question and its answer in one call |
//! | `output_folder` | saves generated files under safe names |
//! | `error` | errors |
//!
//! Runs themselves are implemented in `prowess_engine`.

mod ask;
mod builder;
mod error;
mod output_folder;
mod request;
mod run;
mod skills;

pub use ask::{Answer, AnswerFile, ask};
pub use builder::Builder;
pub use error::Error;
pub use output_folder::OutputFolder;
pub use request::{PromptRequest, SkillRef};
pub use run::{Event, Run, RunOutput};
pub use skills::{load_opened, load_to_send};

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::TryStreamExt;
use prowess_engine::{Engine, OutputFile, RunRequest};
use prowess_provider::{ClientCredentials, Providers};
use prowess_sandbox::SharedSandboxes;
#[cfg(feature = "server")]
use prowess_server::{App, ServerSettings};
use prowess_source::url::FetchOptions;
use prowess_store::{Store, TenantId};
use prowess_wire::ClientDialect;
use tempfile::TempDir;

#[cfg(feature = "cluster")]
use crate::cluster::ClusterConnection;
#[cfg(feature = "server")]
use crate::config::ServerConfig;
#[cfg(feature = "server")]
use crate::config::reload::{ConfigFileReader, ConfigSource, LoadedConfig};

/// There is none in a build without clusters.
#[cfg(not(feature = "cluster"))]
#[derive(Debug)]
enum ClusterConnection {}

/// Models, skills, a store and a sandbox, ready for requests. Cheap to clone; clones
/// share everything.
#[derive(Clone)]
pub struct Prowess(Arc<Shared>);

struct Shared {
    store: Store,
    providers: Providers,
    engine: Engine,
    tenant: TenantId,
    fetch: FetchOptions,
    /// The cluster that this is a gateway of.
    #[cfg(feature = "cluster")]
    cluster: Option<ClusterConnection>,
    /// The store's folder, if it is temporary.
    _temporary: Option<TempDir>,
}

impl Prowess {
    /// Starts with default settings.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts a run. Skills are resolved and checked, and errors of the request returned,
    /// before this returns. The run makes progress only while it is polled; dropping it
    /// cancels the model's and the sandbox's work.
    ///
    /// # Errors
    /// When the model is unknown, a skill cannot be loaded, or the request cannot be run.
    pub async fn run(&self, request: impl Into<PromptRequest>) -> Result<Run, Error> {
        let request = request.into();
        let route = self.0.providers.route(request.model())?;
        let aliases = &self.0.engine.settings().aliases;
        let request_skills =
            skills::resolve_skills(request.skills(), aliases, &self.0.fetch).await?;
        let code = !self.0.engine.sandbox_handle().is_disabled();
        let run_request = RunRequest {
            tenant: self.0.tenant.clone(),
            client: ClientDialect::Messages,
            request: request.into_neutral(&request_skills.ids, code),
            members: request_skills.members,
            auto: None,
            max_turns: None,
            spend_check: None,
            route,
            credentials: ClientCredentials::default(),
        };
        Ok(Run::new(self.0.engine.start(run_request).await?))
    }

    /// The content of a generated file.
    ///
    /// # Errors
    /// When there is no such file, or the store cannot be read.
    pub async fn read(&self, file: &OutputFile) -> Result<Vec<u8>, Error> {
        let (_, content) = self
            .0
            .store
            .read_file(&self.0.tenant, &file.file_id)
            .await?;
        let all = content.try_fold(Vec::new(), |mut all, piece| {
            all.extend_from_slice(&piece);
            std::future::ready(Ok(all))
        });
        Ok(all.await?)
    }

    /// Saves a generated file, and returns its path. Its name comes from a model's code: only
    /// a sanitised form of its last part is used.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub async fn save(
        &self,
        file: &OutputFile,
        folder: &mut OutputFolder,
    ) -> Result<PathBuf, Error> {
        let content = self.read(file).await?;
        folder.save(&file.filename, content).await
    }

    /// The sandbox, once it is open.
    ///
    /// # Errors
    /// When there is no sandbox, with the reason.
    pub async fn sandbox(&self) -> Result<SharedSandboxes, Error> {
        Ok(self
            .0
            .engine
            .sandbox_handle()
            .sandbox_for_operator()
            .await?)
    }

    /// An HTTP app with the same models, skills and sandbox.
    #[cfg(feature = "server")]
    #[must_use]
    pub fn app(&self, settings: ServerSettings) -> App {
        let settings = ServerSettings {
            providers: Some(self.0.providers.clone()),
            runs: self.0.engine.settings().clone(),
            sandbox: self.0.engine.sandbox_handle().clone(),
            #[cfg(feature = "cluster")]
            cluster: self.0.cluster.as_ref().map(ClusterConnection::membership),
            ..settings
        };
        App::new(self.0.store.clone(), settings)
    }

    /// Reads the configuration again for [`App::set_config_reader`]: from the source of `loaded`,
    /// which this was opened with. `adjust` changes settings that the program does not take from
    /// the file alone.
    #[cfg(feature = "server")]
    #[must_use]
    pub fn config_reader(
        &self,
        source: ConfigSource,
        loaded: &LoadedConfig,
        adjust: impl Fn(&mut ServerConfig) + Send + Sync + 'static,
    ) -> ConfigFileReader {
        let sandbox = self.0.engine.sandbox_handle().clone();
        ConfigFileReader::new(source, loaded, self.0.providers.clone(), sandbox, adjust)
    }

    /// The store of skills, files and records.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// The providers of models.
    #[must_use]
    pub fn providers(&self) -> &Providers {
        &self.0.providers
    }

    /// Writes pending records, leaves the cluster and closes the store.
    pub async fn close(&self) {
        self.0.engine.flush_records().await;
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.0.cluster {
            cluster.leave().await;
        }
        self.0.store.close().await;
    }
}

impl fmt::Debug for Prowess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prowess")
            .field("providers", &self.0.providers.names())
            .field("engine", &self.0.engine)
            .finish_non_exhaustive()
    }
}
