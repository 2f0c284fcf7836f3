//! What is known of containers without reading their files.

use prowess_sandbox::{ContainerInfo, ContainerSetup, Error, Network};
use prowess_store::{ClusterContainerSummary, Timestamp};
use serde_json::Value;

use crate::cluster::ClusterSandboxes;
use crate::containers::read_setup;
use crate::store_error::{store_error, tenant_of};
use crate::uses::ContainerTimes;

impl ClusterSandboxes {
    /// What a container was set up with.
    pub(crate) async fn setup_of(&self, owner: &str, id: &str) -> Result<ContainerSetup, Error> {
        let container = self.containers.summary(owner, id).await?;
        read_setup(&container.setup)
    }

    /// When a container expires, in seconds since the epoch.
    pub(crate) async fn expiry_of(&self, owner: &str, id: &str) -> Result<u64, Error> {
        let container = self.containers.summary(owner, id).await?;
        Ok(self.end_of_life(ContainerTimes {
            created_at: container.created_at,
            used_at: container.used_at,
        }))
    }

    /// The same after a command, whose times are known already.
    pub(crate) async fn expiry_of_used(&self, owner: &str, id: &str) -> Result<u64, Error> {
        match self.uses.get(owner, id) {
            Some(times) => Ok(self.end_of_life(times)),
            None => self.expiry_of(owner, id).await,
        }
    }

    fn end_of_life(&self, times: ContainerTimes) -> u64 {
        let idle = times.used_at.after(self.settings.container_idle);
        let life = times.created_at.after(self.settings.container_life);
        seconds(idle.min(life))
    }

    /// Describes one container.
    pub(crate) async fn info(&self, owner: &str, id: &str) -> Result<ContainerInfo, Error> {
        let container = self.containers.summary(owner, id).await?;
        info_of(owner, container)
    }

    /// Describes all containers of an owner.
    pub(crate) async fn infos(&self, owner: &str) -> Result<Vec<ContainerInfo>, Error> {
        let tenant = tenant_of(owner)?;
        let listed = self.store.list_cluster_containers(&tenant).await;
        let listed = listed.map_err(store_error)?.into_iter();
        listed.map(|container| info_of(owner, container)).collect()
    }
}

fn info_of(owner: &str, container: ClusterContainerSummary) -> Result<ContainerInfo, Error> {
    Ok(ContainerInfo {
        owner: owner.to_owned(),
        created: seconds(container.created_at),
        used: seconds(container.used_at),
        bytes: container.stored_bytes,
        domains: domains(&container.setup)?,
        id: container.id,
    })
}

/// Domains that commands of a container may reach.
fn domains(setup: &Value) -> Result<Vec<prowess_sandbox::DomainRule>, Error> {
    Ok(match read_setup(setup)?.policy.network {
        Network::Off => Vec::new(),
        Network::Allow(domains) => domains,
    })
}

fn seconds(time: Timestamp) -> u64 {
    u64::try_from(time.as_seconds()).unwrap_or_default()
}
