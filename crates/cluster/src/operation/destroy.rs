//! Removes a container. A command that runs in it cannot commit its changes any more.

use prowess_sandbox::Error;

use crate::cluster::ClusterSandboxes;
use crate::command::link::spawn;
use crate::store_error::{not_found, store_error, tenant_of};

impl ClusterSandboxes {
    /// Removes a container and its files, once no command of this gateway uses it. One whose
    /// changes are deferred stays in the store.
    pub(crate) async fn destroy_container(&self, owner: &str, id: &str) -> Result<(), Error> {
        let tenant = tenant_of(owner).map_err(|_| not_found(id))?;
        let _turn = self.locks.acquire(id).await?;
        if self.remove_temporary(owner, id).await {
            return Ok(());
        }
        if self.containers.deferred.state(owner, id).is_some() {
            // A run replaces its container when it needs another skill, and may be resumed from
            // its last step, which has this one. It expires.
            self.forget_copies(vec![id.to_owned()]);
            return Ok(());
        }
        let deleted = self.store.delete_cluster_container(&tenant, id).await;
        if !deleted.map_err(store_error)? {
            return Err(not_found(id));
        }
        self.forget_copies(vec![id.to_owned()]);
        Ok(())
    }

    /// Has workers remove their copies of containers, in the background.
    pub(crate) fn forget_copies(&self, containers: Vec<String>) {
        let dispatcher = self.dispatcher.clone();
        spawn(async move {
            let workers = dispatcher.registry.alive();
            dispatcher.link.forget(&workers, &containers).await;
        });
    }
}
