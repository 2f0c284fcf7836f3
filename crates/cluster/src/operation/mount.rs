//! Mounts skills in a container from its next command on.

use prowess_sandbox::{Error, SkillFiles};
use prowess_store::Error as StoreError;

use crate::cluster::ClusterSandboxes;
use crate::store_error::{not_found, store_error, tenant_of};

/// Attempts to mount skills whose contents are collected meanwhile.
const MAX_ATTEMPTS: usize = 3;

impl ClusterSandboxes {
    /// Adds skills to a container; one in the same folder is replaced.
    pub(crate) async fn mount_skills(
        &self,
        owner: &str,
        id: &str,
        skills: Vec<SkillFiles>,
    ) -> Result<(), Error> {
        let tenant = tenant_of(owner).map_err(|_| not_found(id))?;
        let _turn = self.locks.acquire(id).await?;
        let mut attempts = 0;
        let replaced = loop {
            attempts += 1;
            let (skills, contents) = self.skills.stage(&self.store, &skills).await?;
            let replaced = self
                .store
                .replace_cluster_skills(&tenant, id, &skills, contents);
            match replaced.await {
                Err(StoreError::Busy) if attempts < MAX_ATTEMPTS => {}
                replaced => break replaced.map_err(store_error)?,
            }
        };
        replaced.then_some(()).ok_or_else(|| not_found(id))
    }
}
