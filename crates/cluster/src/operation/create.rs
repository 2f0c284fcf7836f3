//! Creates containers: rows in the store. Workers learn of one with its first command.

use prowess_sandbox::{ContainerSetup, ContainerSpec, Error, check_container_id, new_container_id};
use prowess_store::{
    ContainerQuota, CreateContainerOutcome, Error as StoreError, NewClusterContainer,
};

use crate::cluster::ClusterSandboxes;
use crate::containers::write_setup;
use crate::store_error::{store_error, tenant_of};

/// Attempts to create a container whose skills are collected meanwhile.
const MAX_ATTEMPTS: usize = 3;

impl ClusterSandboxes {
    /// Creates a container.
    pub(crate) async fn create_container(
        &self,
        owner: &str,
        spec: ContainerSpec,
    ) -> Result<String, Error> {
        let id = new_container_id()?;
        self.create_with_id(owner, &id, spec).await?;
        Ok(id)
    }

    /// Creates a container with the id of one that existed before.
    pub(crate) async fn recreate_container(
        &self,
        owner: &str,
        id: &str,
        spec: ContainerSpec,
    ) -> Result<(), Error> {
        check_container_id(id)?;
        self.create_with_id(owner, id, spec).await
    }

    async fn create_with_id(
        &self,
        owner: &str,
        id: &str,
        spec: ContainerSpec,
    ) -> Result<(), Error> {
        let tenant = tenant_of(owner)?;
        let setup = write_setup(&ContainerSetup {
            policy: spec.policy,
            uploads: Vec::new(),
        })?;
        let requirements = spec.layer.as_ref().and_then(|layer| layer.requirements());
        let requirements = requirements.map(serde_json::to_string).transpose();
        let requirements = requirements.map_err(|error| Error::Layer {
            why: error.to_string(),
        })?;
        let limit = self.settings.containers_per_tenant;
        let mut attempts = 0;
        let created = loop {
            attempts += 1;
            let (skills, contents) = self.skills.stage(&self.store, &spec.skills).await?;
            let new = NewClusterContainer {
                id,
                setup: &setup,
                requirements: requirements.as_deref(),
                skills: &skills,
                contents,
                quota: ContainerQuota {
                    containers: u32::try_from(limit).unwrap_or(u32::MAX),
                    evict_idle: self.settings.evict_idle,
                },
            };
            match self.store.create_cluster_container(&tenant, new).await {
                Err(StoreError::Busy) if attempts < MAX_ATTEMPTS => {}
                created => break created.map_err(store_error)?,
            }
        };
        match created {
            CreateContainerOutcome::Created { evicted, .. } => {
                if let Some(evicted) = evicted {
                    self.forget_copies(vec![evicted]);
                }
                Ok(())
            }
            CreateContainerOutcome::Exists => Err(Error::ContainerExists { id: id.to_owned() }),
            CreateContainerOutcome::TooMany { limit } => {
                let limit = usize::try_from(limit).unwrap_or(usize::MAX);
                Err(Error::TooManyContainers {
                    held: limit,
                    allowed: limit,
                })
            }
        }
    }
}
