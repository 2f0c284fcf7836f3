//! Creates a container with the id of one that has expired, so that what was stored about it
//! elsewhere still finds it.

use super::ContainerStore;
use crate::error::Error;
use crate::policy::{Policy, SandboxLimits};
use std::fs;

impl ContainerStore {
    /// As [`create`](Self::create), with an id that
    /// [`check_container_id`](super::check_container_id) accepts.
    pub(crate) fn recreate(
        &self,
        id: &str,
        owner: &str,
        policy: Policy,
        mounts: impl FnOnce() -> Result<Vec<(String, String)>, Error>,
        claim_host_id: impl FnOnce(&SandboxLimits) -> Option<u32>,
    ) -> Result<String, Error> {
        self.sync();
        self.expire_known();
        let exists = || Error::ContainerExists { id: id.to_owned() };
        let lock = self.container_lock(id);
        // Whoever holds it uses the container, or is recreating it.
        let _turn = lock.try_acquire().ok_or_else(exists)?;
        if fs::symlink_metadata(self.folder.join(id)).is_ok() {
            return Err(exists());
        }
        let created = self.create_with_id(id.to_owned(), owner, policy, mounts, claim_host_id);
        if created.is_err() {
            self.forget_lock(id);
        }
        created
    }
}
