//! Prowess inside a program: requests with skills, without a server.
//!
//! | module | owns |
//! |---|---|
//! | `builder` | from settings to a [`Prowess`] |
//! | `request` | what is asked, and which skills it names |
//! | `skills` | from a folder, an archive or a URL to skills |
//! | `run` | the events of a run, and its whole answer |
//! | `save` | generated files in a folder, under names that do no harm |
//! | `error` | why something did not work |
//!
//! Nothing is decided here: runs are the engine's.

mod builder;
mod error;
mod output_folder;
mod request;
mod run;
mod skills;

pub use builder::Builder;
pub use error::Error;
pub use output_folder::OutputFolder;
pub use request::{PromptRequest, SkillRef};
pub use run::{Event, Run, RunOutput};
pub(crate) use skills::load_all;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::TryStreamExt;
use prowess_engine::{Engine, OutputFile, RunRequest};
use prowess_provider::{ClientCredentials, Providers};
use prowess_sandbox::Sandbox;
use prowess_server::{App, ServerSettings};
use prowess_source::url::FetchOptions;
use prowess_store::{Store, TenantId};
use prowess_wire::ClientDialect;
use tempfile::TempDir;

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
    /// The folder of the store, if it goes when this does.
    _temporary: Option<TempDir>,
}

impl Prowess {
    /// Begins to say what it is made of.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts a run: skills are found and checked, and what is wrong with the request is
    /// told, before this returns. The run makes progress while it is polled; dropping it
    /// ends the model's work and the sandbox's.
    ///
    /// # Errors
    /// When the model is not known, a skill cannot be had, or the request cannot be run.
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
            route,
            credentials: ClientCredentials::default(),
        };
        Ok(Run::new(self.0.engine.start(run_request).await?))
    }

    /// The content of a file that a run made.
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

    /// Saves a file that a run made, and tells where. Its name comes from a model's
    /// code: only a harmless form of its last part is used.
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

    /// The sandbox, once it is open: to learn early whether there is one.
    ///
    /// # Errors
    /// When there is none, with the reason.
    pub async fn sandbox(&self) -> Result<Sandbox, Error> {
        Ok(self
            .0
            .engine
            .sandbox_handle()
            .sandbox_for_operator()
            .await?)
    }

    /// The same models, skills and sandbox over HTTP.
    #[must_use]
    pub fn app(&self, settings: ServerSettings) -> App {
        let settings = ServerSettings {
            providers: Some(self.0.providers.clone()),
            runs: self.0.engine.settings().clone(),
            sandbox: self.0.engine.sandbox_handle().clone(),
            ..settings
        };
        App::new(self.0.store.clone(), settings)
    }

    /// Where skills, files and records are kept.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// The models and the ways to them.
    #[must_use]
    pub fn providers(&self) -> &Providers {
        &self.0.providers
    }

    /// Waits until everything that is to be kept is kept, and closes the store.
    pub async fn close(&self) {
        self.0.engine.flush_records().await;
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
