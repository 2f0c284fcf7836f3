//! The face of this crate: sessions, and commands run in them, by whichever backend.

mod create_rate;
mod exec;
mod files;
mod layer;
mod open;
mod refusal;

use crate::backend::{SandboxBackend, run_blocking};
use crate::container::{ContainerInfo, ContainerStore};
use crate::egress::Egress;
use crate::error::Error;
use crate::packages::builds::Builds;
use crate::packages::layer_store::LayerStore;
use crate::packages::{self, Layer, PackageIndex};
use crate::policy::{Network, Policy, SandboxLimits};
use crate::probe::Probe;
use crate::queue::Queue;
use crate::skills::{SkillCache, SkillFiles, SkillsGuard};
use create_rate::CreateRate;
use std::path::PathBuf;
use std::sync::Arc;

/// What a new session is to have.
#[derive(Debug, Clone, Default)]
pub struct ContainerSpec {
    /// Bounds and network.
    pub policy: Policy,
    /// Skills, at `/skills/NAME`.
    pub skills: Vec<SkillFiles>,
    /// Python packages, on Python's path.
    pub layer: Option<Layer>,
}

impl From<Policy> for ContainerSpec {
    fn from(policy: Policy) -> Self {
        Self {
            policy,
            ..Self::default()
        }
    }
}

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
    create_rate: CreateRate,
    probe: Probe,
    backend: Arc<dyn SandboxBackend>,
    /// Whether the backend can let commands out through the proxy.
    has_proxy: bool,
    egress: Egress,
    packages: Option<PackageIndex>,
    /// The layers that are there, and who may build more.
    layers: LayerStore,
    skills: SkillCache,
    builds: Builds,
}

impl Sandbox {
    /// What was found when this was opened.
    #[must_use]
    pub fn host_probe(&self) -> &Probe {
        &self.inner.probe
    }

    /// How many commands run, now and whenever that changes.
    #[must_use]
    pub fn running_commands(&self) -> tokio::sync::watch::Receiver<usize> {
        self.inner.queue.running()
    }

    /// Commands that run, and that wait.
    #[must_use]
    pub fn load(&self) -> (usize, usize) {
        self.inner.queue.load()
    }

    /// Makes a session.
    ///
    /// # Errors
    /// When a skill's name or files cannot become paths, the disk is full, or the
    /// policy asks for a network that the backend cannot give.
    pub async fn create(&self, owner: &str, new: ContainerSpec) -> Result<String, Error> {
        if !self.inner.has_proxy && new.policy.network != Network::Off {
            let what = "a network for sessions";
            return Err(Error::Unsupported { what });
        }
        self.inner.create_rate.wait(owner).await;
        let (inner, owner) = (Arc::clone(&self.inner), owner.to_owned());
        let made = run_blocking(move || {
            let layer = new.layer.iter();
            let layer = layer.map(|layer| (layer.folder(), packages::PACKAGES_PATH.to_owned()));
            // The skills stay in use until the session's file names them.
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
            let made = inner.containers.create(&owner, new.policy, mounts, claim);
            drop(in_use);
            inner.forget_removed();
            if let (Err(_), Some(host_id)) = (&made, claimed) {
                inner.forget_claimed(host_id);
            }
            made
        });
        refusal::delay_refusal(made.await).await
    }

    /// Shows more skills in a session from its next command on, or others in place of
    /// those of the same name.
    ///
    /// # Errors
    /// When there is no such session, or a skill's name or files cannot become paths.
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

    /// Until when a session lives if nobody uses it, in seconds since the epoch.
    ///
    /// # Errors
    /// [`Error::NoSession`] when it is not there, or not the owner's.
    pub async fn expiry(&self, owner: &str, id: &str) -> Result<u64, Error> {
        let (inner, owner, id) = (Arc::clone(&self.inner), owner.to_owned(), id.to_owned());
        run_blocking(move || inner.containers.expiry(&owner, &id)).await
    }

    /// Removes a session and its files.
    ///
    /// # Errors
    /// When there is no such session.
    pub async fn destroy(&self, owner: &str, id: &str) -> Result<(), Error> {
        let held = self.inner.containers.acquire(owner, id).await?;
        let inner = Arc::clone(&self.inner);
        inner.backend.forget(id, held.meta.host_id).await;
        run_blocking(move || inner.containers.destroy(&held)).await
    }

    /// All sessions, the most recently used first.
    #[must_use]
    pub fn containers(&self) -> Vec<ContainerInfo> {
        self.inner.containers.list()
    }

    /// The sessions of one owner, the most recently used first.
    ///
    /// # Errors
    /// When no thread can be had for it.
    pub async fn containers_of_owner(&self, owner: &str) -> Result<Vec<ContainerInfo>, Error> {
        let (inner, owner) = (Arc::clone(&self.inner), owner.to_owned());
        run_blocking(move || Ok(inner.containers.list_of_owner(&owner))).await
    }

    /// What is known of one session.
    ///
    /// # Errors
    /// [`Error::NoSession`] when it is not there, or not the owner's.
    pub async fn container(&self, owner: &str, id: &str) -> Result<ContainerInfo, Error> {
        let (inner, owner, id) = (Arc::clone(&self.inner), owner.to_owned(), id.to_owned());
        run_blocking(move || inner.containers.info(&owner, &id)).await
    }

    /// Removes expired sessions now, and returns how many there were.
    ///
    /// # Errors
    /// When no thread can be had for it.
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
    /// Writes the skills that are not there yet.
    fn provide(&self, skills: &[SkillFiles]) -> Result<SkillsGuard, Error> {
        self.skills.provide(skills, &|| self.containers.mounted())
    }

    /// Lets go, in the background, of what was made ahead and adopted by a session that
    /// could not be made.
    fn forget_claimed(self: &Arc<Self>, host_id: u32) {
        let inner = Arc::clone(self);
        tokio::spawn(async move { inner.backend.forget("", host_id).await });
    }
}
