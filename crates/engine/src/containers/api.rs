//! Containers: sessions of the sandbox that clients make, look at and remove
//! themselves, and may name in requests. A session that a run made is one too.
//!
//! | module | owns |
//! |---|---|
//! | `create` | a new one, with skills and files in it |
//! | `files` | what lies in one |

mod create;
mod files;

use std::collections::BTreeMap;

use prowess_sandbox::{ContainerInfo, Error as SandboxError, Sandbox};
use prowess_store::TenantId;

pub use create::NewContainer;
pub use files::ContainerFile;

use crate::engine::Engine;
use crate::error::RunError;
use crate::ids;

/// The containers of one tenant.
#[derive(Debug, Clone)]
pub struct Containers {
    engine: Engine,
    tenant: TenantId,
}

/// A container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// `cntr_…`.
    pub id: String,
    /// What its maker calls it; empty if nothing.
    pub name: String,
    /// When it was made, in seconds since the epoch.
    pub created_at: u64,
    /// When it was last used, in seconds since the epoch.
    pub last_used_at: u64,
    /// How long it lives unused, in minutes.
    pub idle_minutes: u64,
    /// Bytes of memory its code may use.
    pub memory_bytes: u64,
    /// Domains its code may reach.
    pub domains: Vec<String>,
}

impl Containers {
    pub(crate) fn new(engine: Engine, tenant: TenantId) -> Self {
        Containers { engine, tenant }
    }

    /// All of them, the newest first.
    ///
    /// # Errors
    /// When there is no sandbox, or the store fails.
    pub async fn list(&self) -> Result<Vec<Container>, RunError> {
        let sandbox = self.sandbox().await?;
        let mut sessions = self.sandbox_containers(&sandbox).await?;
        sessions.sort_by(|a, b| (b.created, &b.id).cmp(&(a.created, &a.id)));
        let ids: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
        let (store, tenant) = (self.engine.store(), &self.tenant);
        let names = store.container_names(tenant, &ids).await?;
        let mut all = Vec::with_capacity(sessions.len());
        for session in &sessions {
            all.extend(self.to_container(&sandbox, session, &names).await);
        }
        Ok(all)
    }

    /// One of them.
    ///
    /// # Errors
    /// [`RunError::NoContainer`] when it is not there, or someone else's.
    pub async fn get(&self, id: &str) -> Result<Container, RunError> {
        let (sandbox, session) = self.find(id).await?;
        let found = sandbox.container(self.owner(), &session).await;
        let found = found.map_err(|error| to_run_error(error, id, ""))?;
        let (store, tenant) = (self.engine.store(), &self.tenant);
        let names = store.container_names(tenant, &[&session]).await?;
        let container = self.to_container(&sandbox, &found, &names).await;
        container.ok_or_else(|| container_not_found(id))
    }

    /// Removes one with all its files.
    ///
    /// # Errors
    /// [`RunError::NoContainer`] when it is not there, or someone else's.
    pub async fn delete(&self, id: &str) -> Result<(), RunError> {
        let (sandbox, session) = self.find(id).await?;
        let gone = sandbox.destroy(self.owner(), &session).await;
        gone.map_err(|error| to_run_error(error, id, ""))
    }

    fn owner(&self) -> &str {
        self.tenant.as_str()
    }

    async fn sandbox(&self) -> Result<Sandbox, RunError> {
        self.engine.sandbox_handle().sandbox().await
    }

    /// The sandbox, and the session in it that is meant.
    async fn find(&self, id: &str) -> Result<(Sandbox, String), RunError> {
        let session = ids::container_id(id);
        let known = self
            .engine
            .store()
            .container(&self.tenant, &session)
            .await?;
        if !known.is_some_and(|session| session.is_ours()) {
            return Err(container_not_found(id));
        }
        let sandbox = self.sandbox().await?;
        let alive = sandbox.expiry(self.owner(), &session).await;
        alive.map_err(|error| to_run_error(error, id, ""))?;
        Ok((sandbox, session))
    }

    /// All sessions of the tenant's.
    async fn sandbox_containers(&self, sandbox: &Sandbox) -> Result<Vec<ContainerInfo>, RunError> {
        let all = sandbox.containers_of_owner(self.owner()).await;
        all.map_err(|error| RunError::Toolbox(error.into()))
    }

    /// A session as a container; none when it is no longer there, or not remembered.
    async fn to_container(
        &self,
        sandbox: &Sandbox,
        session: &ContainerInfo,
        names: &BTreeMap<String, String>,
    ) -> Option<Container> {
        let name = names.get(&session.id)?;
        let expiry = sandbox.expiry(self.owner(), &session.id).await.ok()?;
        Some(Container {
            id: ids::openai_container_id(&session.id),
            name: name.clone(),
            created_at: session.created,
            last_used_at: session.used,
            idle_minutes: expiry.saturating_sub(session.used) / 60,
            memory_bytes: self.engine.settings().policy.limits.memory,
            domains: session.domains.iter().map(ToString::to_string).collect(),
        })
    }
}

fn container_not_found(id: &str) -> RunError {
    RunError::ContainerNotFound {
        id: id.escape_debug().take(100).collect(),
    }
}

/// What the sandbox says of a container or of a file in it, as its client is told.
fn to_run_error(error: SandboxError, container: &str, file: &str) -> RunError {
    match error {
        SandboxError::ContainerNotFound { .. } => container_not_found(container),
        SandboxError::FileNotFound { .. } => RunError::FileNotFound {
            id: file.escape_debug().take(100).collect(),
        },
        SandboxError::BadName { .. } => RunError::invalid_field("file", error.to_string()),
        error => RunError::Toolbox(error.into()),
    }
}
