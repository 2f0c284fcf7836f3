//! The containers of a tenant, which clients list and remove through the API and name in
//! requests. A container that a run created is one of them.

use std::collections::BTreeMap;

use prowess_sandbox::{ContainerInfo, Error as SandboxError, SharedSandboxes};
use prowess_store::TenantId;

use super::run_container::recorded_skills;
use crate::engine::Engine;
use crate::error::RunError;
use crate::ids;
use crate::intake::resolve::SkillPin;

/// The containers of one tenant.
#[derive(Debug, Clone)]
pub struct Containers {
    pub(super) engine: Engine,
    pub(super) tenant: TenantId,
}

/// A container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// `cntr_…`.
    pub id: String,
    /// The name its creator gave it; may be empty.
    pub name: String,
    /// When it was created, in seconds since the epoch.
    pub created_at: u64,
    /// When it was last used, in seconds since the epoch.
    pub last_used_at: u64,
    /// Minutes without use until it expires.
    pub idle_minutes: u64,
    /// Bytes of memory its code may use.
    pub memory_bytes: u64,
    /// Domains its code may reach.
    pub domains: Vec<String>,
    /// Size of its files, in bytes.
    pub size_bytes: u64,
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
        let mut infos = self.sandbox_containers(&sandbox).await?;
        infos.sort_by(|a, b| (b.created, &b.id).cmp(&(a.created, &a.id)));
        let ids: Vec<&str> = infos.iter().map(|info| info.id.as_str()).collect();
        let (store, tenant) = (self.engine.store(), &self.tenant);
        let names = store.container_names(tenant, &ids).await?;
        let mut all = Vec::with_capacity(infos.len());
        for info in &infos {
            all.extend(self.to_container(&sandbox, info, &names).await);
        }
        Ok(all)
    }

    /// One of them.
    ///
    /// # Errors
    /// [`RunError::ContainerNotFound`] when it does not exist, or is another tenant's.
    pub async fn get(&self, id: &str) -> Result<Container, RunError> {
        let (sandbox, container_id) = self.find(id).await?;
        let found = sandbox.container(self.owner(), &container_id).await;
        let info = found.map_err(|error| to_run_error(error, id, ""))?;
        let (store, tenant) = (self.engine.store(), &self.tenant);
        let names = store.container_names(tenant, &[&container_id]).await?;
        let container = self.to_container(&sandbox, &info, &names).await;
        container.ok_or_else(|| container_not_found(id))
    }

    /// The stored skills with which one was created or used: ids of skills and versions.
    ///
    /// # Errors
    /// [`RunError::ContainerNotFound`] when it does not exist, or is another tenant's.
    pub async fn skills(&self, id: &str) -> Result<Vec<(String, String)>, RunError> {
        let record = self
            .engine
            .store()
            .container(&self.tenant, &ids::container_id(id))
            .await?;
        let record = record.filter(|record| record.is_ours());
        let record = record.ok_or_else(|| container_not_found(id))?;
        let (pins, _) = recorded_skills(Some(&record));
        let skill = |pin: SkillPin| (pin.skill_id, pin.version_id);
        Ok(pins.into_iter().map(skill).collect())
    }

    /// Removes one with all its files.
    ///
    /// # Errors
    /// [`RunError::ContainerNotFound`] when it does not exist, or is another tenant's.
    pub async fn delete(&self, id: &str) -> Result<(), RunError> {
        let (sandbox, container_id) = self.find(id).await?;
        let destroyed = sandbox.destroy(self.owner(), &container_id).await;
        destroyed.map_err(|error| to_run_error(error, id, ""))?;
        let store = self.engine.store();
        let deleted = store.delete_container_files(&self.tenant, &container_id);
        Ok(deleted.await?)
    }

    pub(super) fn owner(&self) -> &str {
        self.tenant.as_str()
    }

    pub(super) async fn sandbox(&self) -> Result<SharedSandboxes, RunError> {
        self.engine.sandbox_handle().sandbox().await
    }

    /// The sandbox, and the container's id in it.
    pub(super) async fn find(&self, id: &str) -> Result<(SharedSandboxes, String), RunError> {
        let container_id = ids::container_id(id);
        let known = self
            .engine
            .store()
            .container(&self.tenant, &container_id)
            .await?;
        if !known.is_some_and(|record| record.is_ours()) {
            return Err(container_not_found(id));
        }
        let sandbox = self.sandbox().await?;
        let alive = sandbox.expiry(self.owner(), &container_id).await;
        alive.map_err(|error| to_run_error(error, id, ""))?;
        Ok((sandbox, container_id))
    }

    /// All containers of the tenant in the sandbox.
    async fn sandbox_containers(
        &self,
        sandbox: &SharedSandboxes,
    ) -> Result<Vec<ContainerInfo>, RunError> {
        let all = sandbox.containers_of_owner(self.owner()).await;
        all.map_err(|error| RunError::Toolbox(error.into()))
    }

    /// A container for the API; none when it no longer exists, or has no record.
    async fn to_container(
        &self,
        sandbox: &SharedSandboxes,
        info: &ContainerInfo,
        names: &BTreeMap<String, String>,
    ) -> Option<Container> {
        let name = names.get(&info.id)?;
        let expiry = sandbox.expiry(self.owner(), &info.id).await.ok()?;
        Some(Container {
            id: ids::openai_container_id(&info.id),
            name: name.clone(),
            created_at: info.created,
            last_used_at: info.used,
            idle_minutes: expiry.saturating_sub(info.used) / 60,
            memory_bytes: self.engine.settings().policy.limits.memory,
            domains: info.domains.iter().map(ToString::to_string).collect(),
            size_bytes: info.bytes,
        })
    }
}

fn container_not_found(id: &str) -> RunError {
    RunError::ContainerNotFound {
        id: id.escape_debug().take(100).collect(),
    }
}

/// An error of the sandbox about a container or a file in it, for the client.
pub(super) fn to_run_error(error: SandboxError, container: &str, file: &str) -> RunError {
    match error {
        SandboxError::ContainerNotFound { .. } => container_not_found(container),
        SandboxError::FileNotFound { .. } => RunError::FileNotFound {
            id: file.escape_debug().take(100).collect(),
        },
        SandboxError::BadName { .. } => RunError::invalid_field("file", error.to_string()),
        error => RunError::Toolbox(error.into()),
    }
}
