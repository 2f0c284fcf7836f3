//! The entry points of the engine: whether a request needs a run, starting one, counting its
//! tokens, and the containers of a tenant.

use futures_util::future::BoxFuture;
use prowess_provider::{InputTokenCount, Route};
use prowess_store::{Error as StoreError, Store, TenantId, UsageRow};
use prowess_wire::ClientDialect;
use prowess_wire::raw::RawObject;
use tokio::sync::mpsc;

use crate::client_features::ClientFeatures;
use crate::containers::api::Containers;
use crate::engine::{Engine, RunRequest};
use crate::error::RunError;
use crate::ids;
use crate::intake::native_skills::NativeSkills;
use crate::intake::plan::Purpose;
use crate::intake::prepare::prepare_run;
use crate::intake::resolve::Resolver;
use crate::intake::skill_request::{SkillRequest, SkillSelector};
use crate::turns::answer_writer::EventSink;
use crate::turns::run_loop::RunLoop;
use crate::turns::run_stream::{EVENT_BUFFER, RunStream};

impl Engine {
    /// Whether a request needs a run: it names stored skills, offers code execution that its
    /// model does not have, continues in one of Prowess's containers, or contains calls of
    /// an earlier run. Every other request can be forwarded unchanged.
    ///
    /// # Errors
    /// When its fields about skills are invalid.
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
        if skill_request.auto.is_some() {
            return Ok(true);
        }
        let native_skills = NativeSkills::for_route(route, &ClientFeatures::for_dialect(client));
        if native_skills != NativeSkills::PassThrough {
            let code = skill_request.code_execution && !self.sandbox_handle().is_disabled();
            return Ok(code
                || !skill_request.skills.is_empty()
                || skill_request.container.is_some());
        }
        if let Some(container) = &skill_request.container {
            let id = ids::container_id(container);
            // Boxed, as below: a request without skills must not carry the future of a query.
            let record = Box::pin(self.store().container(tenant, &id)).await?;
            if record.is_some_and(|record| record.is_ours()) {
                return Ok(true);
            }
        }
        let resolver = Resolver {
            store: self.store(),
            unpacking: self.unpacking(),
            tenant,
            aliases: &self.settings().aliases,
            model: route.name(),
            native_skills,
            pins: &[],
        };
        for skill in &skill_request.skills {
            if let SkillSelector::Id { id, .. } = skill
                && Box::pin(resolver.is_stored(id)).await?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Starts a run. Skills are resolved and disclosed, and errors of the request are found,
    /// before this returns; the model is called when the stream is polled.
    ///
    /// # Errors
    /// When the request cannot be run.
    pub async fn start(&self, request: RunRequest) -> Result<RunStream, RunError> {
        self.start_run(request, None).await
    }

    /// Starts a run as [`Engine::start`] does, which is recorded as interrupted if this process
    /// dies. `usage` says who pays for it; [`RunStream::take_usage`] returns the right to report
    /// what it used.
    ///
    /// # Errors
    /// When the request cannot be run.
    pub async fn start_tracked(
        &self,
        request: RunRequest,
        usage: UsageRow,
    ) -> Result<RunStream, RunError> {
        self.start_run(request, Some(usage)).await
    }

    fn start_run(
        &self,
        request: RunRequest,
        usage: Option<UsageRow>,
    ) -> BoxFuture<'_, Result<RunStream, RunError>> {
        Box::pin(async move {
            let (sender, events) = mpsc::channel(EVENT_BUFFER);
            // Boxed: an awaited future is moved into each of the futures around it.
            let prepared = Box::pin(prepare_run(self, request, Purpose::Run, None)).await?;
            let tools = prepared.tools.toolbox.tool_count();
            let id = Store::new_run_id()?;
            let mut run_loop = RunLoop::new(prepared, id.clone(), EventSink::Stream(sender));
            let usage = usage.and_then(|usage| run_loop.track(usage));
            tracing::debug!(run = id, tools, "run started");
            Ok(RunStream::new(id, run_loop.run(), events, usage))
        })
    }

    /// Checks that a request can be run, without running or storing anything. Returns the
    /// container that it continues in, if it names one of Prowess's.
    ///
    /// # Errors
    /// When the request cannot be run.
    pub fn check(&self, request: RunRequest) -> BoxFuture<'_, Result<Option<String>, RunError>> {
        Box::pin(async move {
            let prepared = Box::pin(prepare_run(self, request, Purpose::Count, None)).await?;
            Ok(prepared.container.id)
        })
    }

    /// Counts the tokens of the first turn of a run, with the provider's own counter where it
    /// has one. Nothing is run or stored. Tools that only running a skill's code would list
    /// are not counted.
    ///
    /// # Errors
    /// When the request cannot be run, or the provider fails.
    pub fn count_tokens(
        &self,
        request: RunRequest,
    ) -> BoxFuture<'_, Result<InputTokenCount, RunError>> {
        Box::pin(async move {
            let prepared = Box::pin(prepare_run(self, request, Purpose::Count, None)).await?;
            prepared.count_tokens().await
        })
    }

    /// The containers of a tenant, for the API.
    #[must_use]
    pub fn containers(&self, tenant: &TenantId) -> Containers {
        Containers::new(self.clone(), tenant.clone())
    }

    /// Waits until the records of all runs that have ended are written.
    pub async fn flush_records(&self) {
        self.recorder().flush().await;
    }

    /// Records the runs in progress of servers that died, which were not kept, as interrupted.
    /// Returns how many.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn record_interrupted_runs(&self) -> Result<u64, StoreError> {
        let owner = self.recorder().owner();
        self.store().record_interrupted_runs(owner).await
    }

    /// How many records of runs were dropped because too many were waiting to be written.
    #[must_use]
    pub fn dropped_records(&self) -> u64 {
        self.recorder().dropped()
    }
}
