//! The engine: what all runs share, and the two doors to it.

use std::sync::Arc;

use prowess_provider::{Caller, Counted, Route};
use prowess_store::{Store, TenantId};
use prowess_toolbox::Member;
use prowess_wire::Client;
use prowess_wire::neutral::Request;
use prowess_wire::raw::RawObject;
use tokio::sync::mpsc;

use crate::containers::Containers;
use crate::door::Door;
use crate::error::RunError;
use crate::ids;
use crate::naming::{Named, Naming};
use crate::prepare::{count, prepare};
use crate::record::Recorder;
use crate::resolve::{Own, Resolver};
use crate::run::{AHEAD, Run};
use crate::settings::Settings;

/// What all runs share. Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub struct Engine(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: Store,
    settings: Settings,
    door: Door,
    recorder: Recorder,
}

/// A request to be run.
#[derive(Debug)]
pub struct RunRequest {
    /// On whose behalf: whose skills, files and sessions.
    pub tenant: TenantId,
    /// What the client speaks.
    pub client: Client,
    /// What it asks.
    pub request: Request,
    /// Skills that are at hand already, after those that the request names.
    pub members: Vec<Member>,
    /// The models to ask.
    pub route: Route,
    /// What the provider is told of the caller.
    pub caller: Caller,
}

impl Engine {
    /// An engine over a store and a sandbox.
    #[must_use]
    pub fn new(store: Store, settings: Settings, door: Door) -> Self {
        Engine(Arc::new(Shared {
            recorder: Recorder::new(store.clone()),
            store,
            settings,
            door,
        }))
    }

    /// Whether a request needs a run: it names skills of ours, offers code execution
    /// that its model does not have, goes on with a container of ours, or holds what an
    /// earlier run told. Everything else can pass as it came.
    ///
    /// # Errors
    /// When what it says of skills cannot be understood.
    pub async fn wants(
        &self,
        tenant: &TenantId,
        client: Client,
        body: &[u8],
        raw: &RawObject<'_>,
        route: &Route,
    ) -> Result<bool, RunError> {
        let naming = Naming::peek(client, raw)?;
        if ids::mentions_ours(body) {
            return Ok(true);
        }
        let Some(naming) = naming else {
            return Ok(false);
        };
        let own = Own::of(route, client);
        if own != Own::Passed {
            let code = naming.code && !self.door().is_off();
            return Ok(code || !naming.skills.is_empty() || naming.container.is_some());
        }
        if let Some(container) = &naming.container {
            let id = ids::session(container);
            let session = self.store().session(tenant, &id).await?;
            if session.is_some_and(|session| session.is_ours()) {
                return Ok(true);
            }
        }
        let resolver = Resolver {
            store: self.store(),
            tenant,
            aliases: &self.settings().aliases,
            model: route.name(),
            own,
            pins: &[],
        };
        for skill in &naming.skills {
            if let Named::Id { id, .. } = skill
                && resolver.is_ours(id).await?
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
    pub async fn start(&self, asked: RunRequest) -> Result<Run, RunError> {
        let (out, events) = mpsc::channel(AHEAD);
        let work = prepare(self, asked, out).await?;
        let id = work.log.id.clone();
        tracing::debug!(run = id, tools = work.toolbox.tools().len(), "a run begins");
        Ok(Run::new(id, work.run(), events))
    }

    /// Counts the tokens of what a run's model would first be sent, by the provider's own
    /// counter where it has one. Nothing is run and nothing kept. Tools that only running
    /// a skill's code would tell of are not counted.
    ///
    /// # Errors
    /// When the request cannot be run, or the provider fails.
    pub async fn count(&self, asked: RunRequest) -> Result<Counted, RunError> {
        count(self, asked).await
    }

    /// The containers of a tenant: sessions of the sandbox, as clients know them.
    #[must_use]
    pub fn containers(&self, tenant: &TenantId) -> Containers {
        Containers::new(self.clone(), tenant.clone())
    }

    /// Waits until the records of all runs that have ended are written.
    pub async fn recorded(&self) {
        self.recorder().written().await;
    }

    /// What the operator decided.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The way to the sandbox.
    #[must_use]
    pub fn door(&self) -> &Door {
        &self.0.door
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        &self.0.recorder
    }
}
