//! Containers: a folder, an owner and a policy that survive the commands run in them and
//! restarts of the server. Processes do not: each command has its own sandbox.

mod account;
mod files;
mod guard;
mod index;
mod maintenance;
mod meta;
mod new_id;
mod quota;
mod recreate;
mod storage;
mod temporary;

pub(crate) use account::tenant_for_owner;
pub use files::FileInfo;
pub(crate) use files::{list, open, put, remove};
pub(crate) use guard::ContainerGuard;
pub(crate) use meta::{ContainerMeta, epoch_seconds};
pub use new_id::{check_container_id, new_container_id};
pub(crate) use storage::remove_folder;

use crate::collect::folder::FolderHandle;
use crate::egress::DomainRule;
use crate::error::Error;
use crate::policy::{Network, Policy, SandboxLimits};
use crate::settings::SandboxSettings;
use crate::{id, name};
use guard::ContainerLock;
use index::ContainerIndex;
use quota::Quota;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// All containers under one folder.
#[derive(Debug)]
pub(crate) struct ContainerStore {
    /// The folder of all containers.
    folder: PathBuf,
    root: bool,
    ids: std::ops::Range<u32>,
    idle: Duration,
    life: Duration,
    quota: Quota,
    index: Arc<ContainerIndex>,
    /// Held while space is reserved, so that no space is reserved twice.
    quota_lock: Mutex<()>,
    locks: Mutex<HashMap<String, Arc<ContainerLock>>>,
    /// Evicted and expired containers that the backend may still hold resources for.
    removed: Mutex<Vec<RemovedContainer>>,
}

/// A container that was removed.
#[derive(Debug)]
pub(crate) struct RemovedContainer {
    pub(crate) id: String,
    pub(crate) host_id: u32,
}

/// Description of a container.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ContainerInfo {
    /// Its id.
    pub id: String,
    /// Its owner.
    pub owner: String,
    /// When it was created, in seconds since the epoch.
    pub created: u64,
    /// When it was last used, in seconds since the epoch.
    pub used: u64,
    /// Size of its files, in bytes.
    pub bytes: u64,
    /// Domains its commands may reach.
    pub domains: Vec<DomainRule>,
}

impl ContainerInfo {
    fn new(id: String, meta: ContainerMeta) -> Self {
        Self {
            id,
            owner: meta.owner,
            created: meta.created,
            used: meta.used,
            bytes: meta.usage.bytes,
            domains: match meta.policy.network {
                Network::Off => Vec::new(),
                Network::Allow(domains) => domains,
            },
        }
    }
}

impl ContainerStore {
    pub(crate) fn new(state: &Path, root: bool, settings: &SandboxSettings) -> Self {
        Self {
            folder: state.join("sessions"),
            root,
            ids: settings.host_ids.clone(),
            idle: settings.container_idle,
            life: settings.container_life,
            quota: Quota::new(settings),
            index: Arc::default(),
            quota_lock: Mutex::default(),
            locks: Mutex::default(),
            removed: Mutex::default(),
        }
    }

    /// Creates a container, after removing expired ones. It gets the host id that
    /// `claim_host_id` returns, if a sandbox was provisioned. `claim_host_id` and `mounts`
    /// (path relative to the state folder, path inside) are called only once the container
    /// is counted, so that a refused request takes nothing from others.
    pub(crate) fn create(
        &self,
        owner: &str,
        policy: Policy,
        mounts: impl FnOnce() -> Result<Vec<(String, String)>, Error>,
        claim_host_id: impl FnOnce(&SandboxLimits) -> Option<u32>,
    ) -> Result<String, Error> {
        self.sync();
        self.expire_known();
        let id = new_container_id()?;
        self.create_with_id(id, owner, policy, mounts, claim_host_id)
    }

    fn create_with_id(
        &self,
        id: String,
        owner: &str,
        policy: Policy,
        mounts: impl FnOnce() -> Result<Vec<(String, String)>, Error>,
        claim_host_id: impl FnOnce(&SandboxLimits) -> Option<u32>,
    ) -> Result<String, Error> {
        let free = self.free_host_id()?;
        self.claim(&id, owner, free)?;
        let mounts = mounts().inspect_err(|_| self.index.remove(&id))?;
        let host_id = claim_host_id(&policy.limits).unwrap_or(free);
        let meta = ContainerMeta::new(owner, policy, host_id, mounts);
        self.make_claimed(id, &meta)
    }

    /// Makes a container that is counted already.
    fn make_claimed(&self, id: String, meta: &ContainerMeta) -> Result<String, Error> {
        if let Err(error) = self.make(&id, meta) {
            self.index.remove(&id);
            return Err(error);
        }
        self.index.set(&id, meta);
        Ok(id)
    }

    /// Created in one step: any folder with a container's name is a complete container.
    fn make(&self, id: &str, meta: &ContainerMeta) -> Result<(), Error> {
        let staged = self.stage(meta.host_id)?;
        let folder = self.folder.join(staged.to_string_lossy().as_ref());
        let made = meta.save(&folder).and_then(|()| self.publish(&staged, id));
        if made.is_err() {
            // The first error is returned.
            let _ = self.clear(&staged);
        }
        made
    }

    /// The host id that owns a container's files, if not the server's.
    pub(crate) fn owner_id(&self, host_id: u32) -> Option<u32> {
        self.root.then_some(host_id)
    }

    /// Waits for exclusive access to a container.
    pub(crate) async fn acquire(&self, owner: &str, id: &str) -> Result<ContainerGuard, Error> {
        let none = || Error::ContainerNotFound { id: id.to_owned() };
        // First, so that an invented id creates no lock, and nobody waits for another
        // owner's container.
        self.load_meta(owner, id)?;
        let turn = self.container_lock(id).acquire(id).await?;
        let meta = match self.load_meta(owner, id) {
            Ok(meta) => meta,
            Err(gone) => {
                self.forget_lock(id);
                return Err(gone);
            }
        };
        let folder = self.folder.join(id);
        let file = lock_file(&folder).ok_or_else(none)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| Error::ContainerBusy { id: id.to_owned() })?;
        Ok(ContainerGuard {
            id: id.to_owned(),
            meta,
            folder,
            file,
            index: Arc::clone(&self.index),
            _permit: turn,
        })
    }

    /// The metadata of a container of this owner that has not expired.
    fn load_meta(&self, owner: &str, id: &str) -> Result<ContainerMeta, Error> {
        let none = || Error::ContainerNotFound { id: id.to_owned() };
        name::check_word("container", id).map_err(|_| none())?;
        let meta = ContainerMeta::load(&self.folder.join(id)).ok_or_else(none)?;
        if meta.owner != owner || meta.is_expired(epoch_seconds(), self.idle, self.life) {
            return Err(none());
        }
        Ok(meta)
    }

    /// When a container expires if it is not used, without waiting for its users.
    pub(crate) fn expiry(&self, owner: &str, id: &str) -> Result<u64, Error> {
        let meta = self.load_meta(owner, id)?;
        let idle = meta.used.saturating_add(self.idle.as_secs());
        Ok(idle.min(meta.created.saturating_add(self.life.as_secs())))
    }

    /// Describes one container, without waiting for its users.
    pub(crate) fn info(&self, owner: &str, id: &str) -> Result<ContainerInfo, Error> {
        let meta = self.load_meta(owner, id)?;
        Ok(ContainerInfo::new(id.to_owned(), meta))
    }

    /// Removes a container and its files.
    pub(crate) fn destroy(&self, held: &ContainerGuard) -> Result<(), Error> {
        self.forget_lock(&held.id);
        let gone = self.unlink(&held.id)?;
        self.clear(&gone)
    }

    fn is_held(&self, id: &str) -> bool {
        let locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks
            .get(id)
            .is_some_and(|lock| lock.try_acquire().is_none())
    }

    fn container_lock(&self, id: &str) -> Arc<ContainerLock> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(locks.entry(id.to_owned()).or_default())
    }

    fn forget_lock(&self, id: &str) {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.remove(id);
    }

    /// A host id that no other container has.
    pub(crate) fn free_host_id(&self) -> Result<u32, Error> {
        if self.index.should_compare() {
            self.compare();
        }
        let width = self.ids.end.saturating_sub(self.ids.start);
        loop {
            let id = self.ids.start.saturating_add(id::random_below(width)?);
            if !self.index.is_host_id_taken(id) || self.index.len() >= width as usize {
                return Ok(id);
            }
        }
    }
}

fn lock_file(container: &Path) -> Option<File> {
    FolderHandle::open_path(container)
        .ok()?
        .open_file(c"lock")
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_id_that_somebody_made_up_leaves_nothing_behind() {
        let folder = tempfile::TempDir::new().unwrap();
        let containers =
            ContainerStore::new(folder.path(), false, &SandboxSettings::new(folder.path()));
        for number in 0..3 {
            let id = format!("container_{number}");
            let held = containers.acquire("somebody", &id).await;
            assert!(matches!(held, Err(Error::ContainerNotFound { .. })));
        }
        assert!(containers.locks.lock().unwrap().is_empty());
    }

    #[test]
    fn one_who_is_refused_a_container_claims_nothing_that_was_made_ahead() {
        let folder = tempfile::TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("sessions")).unwrap();
        let mut settings = SandboxSettings::new(folder.path());
        settings.containers_per_tenant = 1;
        let containers = ContainerStore::new(folder.path(), false, &settings);
        let create = |claim: &mut dyn FnMut(&SandboxLimits) -> Option<u32>| {
            containers.create("greedy", Policy::default(), || Ok(Vec::new()), claim)
        };
        let id = create(&mut |_| Some(1_900_000_007)).unwrap();
        let known = containers.load_meta("greedy", &id).unwrap();
        assert_eq!(known.host_id, 1_900_000_007);
        assert!(containers.index.is_host_id_taken(1_900_000_007));
        let mut is_claimed = false;
        let refused = create(&mut |_| {
            is_claimed = true;
            None
        });
        assert!(matches!(refused, Err(Error::TooManyContainers { .. })));
        assert!(!is_claimed);
    }
}
