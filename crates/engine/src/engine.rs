//! The engine: what all runs share, and the two doors to it.

use std::sync::Arc;

use prowess_provider::{ClientCredentials, InputTokenCount, Route};
use prowess_store::{Store, TenantId};
use prowess_toolbox::Member;
use prowess_wire::ClientDialect;
use prowess_wire::neutral::Request;
use prowess_wire::raw::RawObject;
use tokio::sync::mpsc;

use crate::containers::Containers;
use crate::error::RunError;
use crate::ids;
use crate::prepare::{count_tokens, prepare_run};
use crate::record::RunRecorder;
use crate::resolve::{NativeSkills, Resolver};
use crate::run::{EVENT_BUFFER, RunStream};
use crate::sandbox_handle::SandboxHandle;
use crate::settings::EngineSettings;
use crate::skill_request::{SkillRequest, SkillSelector};

/// What all runs share. Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub struct Engine(Arc<EngineInner>);

#[derive(Debug)]
struct EngineInner {
    store: Store,
    settings: EngineSettings,
    sandbox: SandboxHandle,
    recorder: RunRecorder,
}

/// A request to be run.
#[derive(Debug)]
pub struct RunRequest {
    /// On whose behalf: whose skills, files and sessions.
    pub tenant: TenantId,
    /// What the client speaks.
    pub client: ClientDialect,
    /// What it asks.
    pub request: Request,
    /// Skills that are at hand already, after those that the request names.
    pub members: Vec<Member>,
    /// The models to ask.
    pub route: Route,
    /// What the provider is told of the caller.
    pub credentials: ClientCredentials,
}

impl Engine {
    /// An engine over a store and a sandbox.
    #[must_use]
    pub fn new(store: Store, settings: EngineSettings, sandbox: SandboxHandle) -> Self {
        Engine(Arc::new(EngineInner {
            recorder: RunRecorder::new(store.clone()),
            store,
            settings,
            sandbox,
        }))
    }

    /// Whether a request needs a run: it names skills of ours, offers code execution
    /// that its model does not have, goes on with a container of ours, or holds what an
    /// earlier run told. Everything else can pass as it came.
    ///
    /// # Errors
    /// When what it says of skills cannot be understood.
    pub async fn needs_run(
        &self,
        tenant: &TenantId,
        client: ClientDialect,
        body: &[u8],
        raw: &RawObject<'_>,
        route: &Route,
    ) -> Result<bool, RunError> {
        let skill_request = SkillRequest::peek(client, raw)?;
        if ids::mentions_run_ids(body) {
            return Ok(true);
        }
        let Some(skill_request) = skill_request else {
            return Ok(false);
        };
        let native_skills = NativeSkills::for_route(route, client);
        if native_skills != NativeSkills::PassThrough {
            let code = skill_request.code_execution && !self.sandbox_handle().is_disabled();
            return Ok(code
                || !skill_request.skills.is_empty()
                || skill_request.container.is_some());
        }
        if let Some(container) = &skill_request.container {
            let id = ids::container_id(container);
            let session = self.store().container(tenant, &id).await?;
            if session.is_some_and(|session| session.is_ours()) {
                return Ok(true);
            }
        }
        let resolver = Resolver {
            store: self.store(),
            tenant,
            aliases: &self.settings().aliases,
            model: route.name(),
            native_skills,
            pins: &[],
        };
        for skill in &skill_request.skills {
            if let SkillSelector::Id { id, .. } = skill
                && resolver.is_stored(id).await?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Starts a run: skills are resolved and disclosed, and what is wrong with the
    /// request is found, before this returns. The model is called when the run is polled.
    ///
    /// # Errors
    /// When the request cannot be run.
    pub async fn start(&self, request: RunRequest) -> Result<RunStream, RunError> {
        let (out, events) = mpsc::channel(EVENT_BUFFER);
        let run_loop = prepare_run(self, request, out).await?;
        let id = run_loop.log.id.clone();
        tracing::debug!(
            run = id,
            tools = run_loop.toolbox.tools().len(),
            "a run begins"
        );
        Ok(RunStream::new(id, run_loop.run(), events))
    }

    /// Counts the tokens of what a run's model would first be sent, by the provider's own
    /// counter where it has one. Nothing is run and nothing kept. Tools that only running
    /// a skill's code would tell of are not counted.
    ///
    /// # Errors
    /// When the request cannot be run, or the provider fails.
    pub async fn count_tokens(&self, request: RunRequest) -> Result<InputTokenCount, RunError> {
        count_tokens(self, request).await
    }

    /// The containers of a tenant: sessions of the sandbox, as clients know them.
    #[must_use]
    pub fn containers(&self, tenant: &TenantId) -> Containers {
        Containers::new(self.clone(), tenant.clone())
    }

    /// Waits until the records of all runs that have ended are written.
    pub async fn flush_records(&self) {
        self.recorder().flush().await;
    }

    /// What the operator decided.
    #[must_use]
    pub fn settings(&self) -> &EngineSettings {
        &self.0.settings
    }

    /// The way to the sandbox.
    #[must_use]
    pub fn sandbox_handle(&self) -> &SandboxHandle {
        &self.0.sandbox
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn recorder(&self) -> &RunRecorder {
        &self.0.recorder
    }
}
