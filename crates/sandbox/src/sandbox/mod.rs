//! The API of this crate: containers, and commands run in them by a backend.

mod create_rate;
mod exec;
mod files;
mod layer;
mod open;
mod refusal;
mod setup;
mod shared;
mod snapshot;
mod start_backend;

use crate::backend::{SandboxBackend, run_blocking};
use crate::container::{ContainerInfo, ContainerStore};
use crate::container_spec::ContainerSpec;
use crate::egress::Egress;
use crate::error::Error;
use crate::packages::builds::Builds;
use crate::packages::layer_store::LayerStore;
use crate::packages::{NpmRegistry, PackageIndex};
use crate::policy::{Network, Policy, SandboxLimits};
use crate::probe::Probe;
use crate::queue::Queue;
use crate::runtimes::RuntimeGuard;
use crate::skills::{SkillCache, SkillFiles, SkillsGuard};
use crate::statistics::{CommandCounters, SandboxStatistics};
use create_rate::CreateRate;
use prowess_launcher::LAYOUT;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything that runs commands on this host.
#[derive(Debug, Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: PathBuf,
    root: bool,
    containers: ContainerStore,
    queue: Queue,
    counters: CommandCounters,
    create_rate: CreateRate,
    probe: Probe,
    backend: Arc<dyn SandboxBackend>,
    /// Whether the backend supports the egress proxy.
    has_proxy: bool,
    egress: Egress,
    packages: Option<PackageIndex>,
    npm_registry: Option<NpmRegistry>,
    /// Existing layers, and limits on building more.
    layers: LayerStore,
    skills: SkillCache,
    builds: Builds,
    /// Keeps an installed runtime from being removed.
    _runtime: Option<RuntimeGuard>,
}

/// Which container is created.
enum Creation {
    /// One with a new id.
    New,
    /// One with the id of one that has expired.
    Again(String),
    /// A temporary one, without skills and packages.
    Temporary,
}

impl Sandbox {
    /// The result of probing the host when this was opened.
    #[must_use]
    pub fn host_probe(&self) -> &Probe {
        &self.inner.probe
    }

    /// What commands did since it was opened, and what they do now.
    #[must_use]
    pub fn statistics(&self) -> SandboxStatistics {
        let (running, waiting) = self.inner.queue.load();
        SandboxStatistics {
            running,
            waiting,
            warm: self.inner.backend.warm_count(),
            ..self.inner.counters.statistics()
        }
    }

    /// How many commands run, and every change of that.
    #[must_use]
    pub fn running_commands(&self) -> tokio::sync::watch::Receiver<usize> {
        self.inner.queue.running()
    }

    /// How many commands run and wait.
    #[must_use]
    pub fn load(&self) -> (usize, usize) {
        self.inner.queue.load()
    }

    /// How many commands of one tenant run at once.
    #[must_use]
    pub fn commands_per_tenant(&self) -> usize {
        self.inner.queue.running_per_owner()
    }

    /// Creates a container.
    ///
    /// # Errors
    /// When a skill's name or files are not valid paths, a disk limit is reached, or the
    /// policy needs network access that the backend does not support.
    pub async fn create(&self, owner: &str, new: ContainerSpec) -> Result<String, Error> {
        self.create_as(owner, Creation::New, new).await
    }

    /// Creates a container that is in no list, counts for no tenant, and for which no other is
    /// evicted. The caller bounds how many there are at once, and destroys it.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub async fn create_temporary(&self, owner: &str, policy: Policy) -> Result<String, Error> {
        let new = ContainerSpec::from(policy);
        self.create_as(owner, Creation::Temporary, new).await
    }

    async fn create_as(
        &self,
        owner: &str,
        creation: Creation,
        new: ContainerSpec,
    ) -> Result<String, Error> {
        if !self.inner.has_proxy && new.policy.network != Network::Off {
            let what = "network access";
            return Err(Error::Unsupported { what });
        }
        // A temporary container must not wait behind those that its owner creates.
        if !matches!(creation, Creation::Temporary) {
            self.inner.create_rate.wait(owner).await;
        }
        let (inner, owner) = (Arc::clone(&self.inner), owner.to_owned());
        let made = run_blocking(move || {
            let layer = new.layer.iter();
            let layer = layer.map(|layer| (layer.folder(), LAYOUT.packages.to_owned()));
            // The skills are locked until the container's metadata names them.
            let mut in_use = SkillsGuard::default();
            let mounts = || {
                in_use = inner.provide(&new.skills)?;
                Ok(in_use.mounts.iter().cloned().chain(layer).collect())
            };
            let mut claimed = None;
            let claim = |limits: &SandboxLimits| {
                claimed = inner.backend.claim_warm(limits);
                claimed
            };
            let containers = &inner.containers;
            let made = match creation {
                Creation::New => containers.create(&owner, new.policy, mounts, claim),
                Creation::Again(id) => containers.recreate(&id, &owner, new.policy, mounts, claim),
                Creation::Temporary => containers.create_temporary(&owner, new.policy, claim),
            };
            drop(in_use);
            inner.forget_removed();
            if let (Err(_), Some(host_id)) = (&made, claimed) {
                inner.forget_claimed(host_id);
            }
            made
        });
        refusal::delay_refusal(made.await).await
    }

    /// Mounts more skills in a container from its next command on. A skill of the same name
    /// is replaced.
    ///
    /// # Errors
    /// When the container does not exist, or a skill's name or files are not valid paths.
    pub async fn mount(&self, owner: &str, id: &str, skills: Vec<SkillFiles>) -> Result<(), Error> {
        let mut held = self.inner.containers.acquire(owner, id).await?;
        let inner = Arc::clone(&self.inner);
        run_blocking(move || {
            let in_use = inner.provide(&skills)?;
            for (folder, place) in &in_use.mounts {
                held.meta.mounts.retain(|(_, known)| known != place);
                held.meta.mounts.push((folder.clone(), place.clone()));
            }
            held.save()
        })
        .await
    }

    /// When a container expires if it is not used, in seconds since the epoch.
    ///
    /// # Errors
    /// [`Error::ContainerNotFound`] when it does not exist, or is not the owner's.
    pub async fn expiry(&self, owner: &str, id: &str) -> Result<u64, Error> {
        let (inner, owner, id) = (Arc::clone(&self.inner), owner.to_owned(), id.to_owned());
        run_blocking(move || inner.containers.expiry(&owner, &id)).await
    }

    /// Removes a container and its files.
    ///
    /// # Errors
    /// When the container does not exist.
    pub async fn destroy(&self, owner: &str, id: &str) -> Result<(), Error> {
        let held = self.inner.containers.acquire(owner, id).await?;
        let inner = Arc::clone(&self.inner);
        inner.backend.forget(id, held.meta.host_id).await;
        run_blocking(move || inner.containers.destroy(&held)).await
    }

    /// All containers, the most recently used first, with temporary ones.
    #[must_use]
    pub fn containers(&self) -> Vec<ContainerInfo> {
        self.inner.containers.list()
    }

    /// The containers of one owner, the most recently used first, without temporary ones.
    ///
    /// # Errors
    /// When no thread is available.
    pub async fn containers_of_owner(&self, owner: &str) -> Result<Vec<ContainerInfo>, Error> {
        let (inner, owner) = (Arc::clone(&self.inner), owner.to_owned());
        run_blocking(move || Ok(inner.containers.list_of_owner(&owner))).await
    }

    /// Describes one container.
    ///
    /// # Errors
    /// [`Error::ContainerNotFound`] when it does not exist, or is not the owner's.
    pub async fn container(&self, owner: &str, id: &str) -> Result<ContainerInfo, Error> {
        let (inner, owner, id) = (Arc::clone(&self.inner), owner.to_owned(), id.to_owned());
        run_blocking(move || inner.containers.info(&owner, &id)).await
    }

    /// Removes expired containers now, and returns how many there were.
    ///
    /// # Errors
    /// When no thread is available.
    pub async fn expire(&self) -> Result<usize, Error> {
        let inner = Arc::clone(&self.inner);
        let expired = run_blocking(move || {
            let expired = inner.containers.expire();
            inner.skills.tidy(&|| inner.containers.mounted())?;
            inner.forget_removed();
            Ok(expired)
        })
        .await?;
        let kept: Vec<String> = self.containers().into_iter().map(|one| one.id).collect();
        self.inner.backend.keep_only(&kept).await;
        Ok(expired)
    }
}

impl Inner {
    /// Writes the skills that are not stored yet.
    fn provide(&self, skills: &[SkillFiles]) -> Result<SkillsGuard, Error> {
        self.skills.provide(skills, &|| self.containers.mounted())
    }

    /// Releases, in the background, a provisioned sandbox that was claimed for a container
    /// that could not be created.
    fn forget_claimed(self: &Arc<Self>, host_id: u32) {
        let inner = Arc::clone(self);
        tokio::spawn(async move { inner.backend.forget("", host_id).await });
    }
}
