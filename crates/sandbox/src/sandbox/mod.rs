//! The face of this crate: sessions, and commands run in them, by whichever backend.

mod exec;
mod files;
mod layer;
mod open;
mod pace;
mod refusal;

use crate::backend::{Backend, blocking};
use crate::egress::Egress;
use crate::error::Error;
use crate::packages::builds::Builds;
use crate::packages::store::Layers;
use crate::packages::{self, Layer, PackageIndex};
use crate::policy::{Limits, Network, Policy};
use crate::probe::Probe;
use crate::queue::Queue;
use crate::session::{SessionInfo, Sessions};
use crate::skills::{InUse, SkillFiles, Skills};
use pace::Pace;
use std::path::PathBuf;
use std::sync::Arc;

/// What a new session is to have.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// Bounds and network.
    pub policy: Policy,
    /// Skills, at `/skills/NAME`.
    pub skills: Vec<SkillFiles>,
    /// Python packages, on Python's path.
    pub layer: Option<Layer>,
}

impl From<Policy> for NewSession {
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
    sessions: Sessions,
    queue: Queue,
    pace: Pace,
    probe: Probe,
    backend: Arc<dyn Backend>,
    /// Whether the backend can let commands out through the proxy.
    has_proxy: bool,
    egress: Egress,
    packages: Option<PackageIndex>,
    /// The layers that are there, and who may build more.
    layers: Layers,
    skills: Skills,
    builds: Builds,
}

impl Sandbox {
    /// What was found when this was opened.
    #[must_use]
    pub fn level(&self) -> &Probe {
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
    pub async fn create(&self, owner: &str, new: NewSession) -> Result<String, Error> {
        if !self.inner.has_proxy && new.policy.network != Network::Off {
            let what = "a network for sessions";
            return Err(Error::Unsupported { what });
        }
        self.inner.pace.wait(owner).await;
        let (inner, owner) = (Arc::clone(&self.inner), owner.to_owned());
        let made = blocking(move || {
            let layer = new.layer.iter();
            let layer = layer.map(|layer| (layer.folder(), packages::INSIDE.to_owned()));
            // The skills stay in use until the session's file names them.
            let mut in_use = InUse::default();
            let mounts = || {
                in_use = inner.provide(&new.skills)?;
                Ok(in_use.mounts.iter().cloned().chain(layer).collect())
            };
            let mut adopted = None;
            let adopt = |limits: &Limits| {
                adopted = inner.backend.adopt(limits);
                adopted
            };
            let made = inner.sessions.create(&owner, new.policy, mounts, adopt);
            drop(in_use);
            inner.forget_removed();
            if let (Err(_), Some(host_id)) = (&made, adopted) {
                inner.forget_adopted(host_id);
            }
            made
        });
        refusal::delayed(made.await).await
    }

    /// Shows more skills in a session from its next command on, or others in place of
    /// those of the same name.
    ///
    /// # Errors
    /// When there is no such session, or a skill's name or files cannot become paths.
    pub async fn mount(&self, owner: &str, id: &str, skills: Vec<SkillFiles>) -> Result<(), Error> {
        let mut held = self.inner.sessions.hold(owner, id).await?;
        let inner = Arc::clone(&self.inner);
        blocking(move || {
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
        blocking(move || inner.sessions.expiry(&owner, &id)).await
    }

    /// Removes a session and its files.
    ///
    /// # Errors
    /// When there is no such session.
    pub async fn destroy(&self, owner: &str, id: &str) -> Result<(), Error> {
        let held = self.inner.sessions.hold(owner, id).await?;
        let inner = Arc::clone(&self.inner);
        inner.backend.forget(id, held.meta.host_id).await;
        blocking(move || inner.sessions.destroy(&held)).await
    }

    /// All sessions, the most recently used first.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.inner.sessions.list()
    }

    /// The sessions of one owner, the most recently used first.
    ///
    /// # Errors
    /// When no thread can be had for it.
    pub async fn sessions_of(&self, owner: &str) -> Result<Vec<SessionInfo>, Error> {
        let (inner, owner) = (Arc::clone(&self.inner), owner.to_owned());
        blocking(move || Ok(inner.sessions.list_of(&owner))).await
    }

    /// What is known of one session.
    ///
    /// # Errors
    /// [`Error::NoSession`] when it is not there, or not the owner's.
    pub async fn session(&self, owner: &str, id: &str) -> Result<SessionInfo, Error> {
        let (inner, owner, id) = (Arc::clone(&self.inner), owner.to_owned(), id.to_owned());
        blocking(move || inner.sessions.info(&owner, &id)).await
    }

    /// Removes expired sessions now, and returns how many there were.
    ///
    /// # Errors
    /// When no thread can be had for it.
    pub async fn expire(&self) -> Result<usize, Error> {
        let inner = Arc::clone(&self.inner);
        let expired = blocking(move || {
            let expired = inner.sessions.expire();
            inner.skills.tidy(&|| inner.sessions.mounted())?;
            inner.forget_removed();
            Ok(expired)
        })
        .await?;
        let kept: Vec<String> = self.sessions().into_iter().map(|one| one.id).collect();
        self.inner.backend.keep_only(&kept).await;
        Ok(expired)
    }
}

impl Inner {
    /// Writes the skills that are not there yet.
    fn provide(&self, skills: &[SkillFiles]) -> Result<InUse, Error> {
        self.skills.provide(skills, &|| self.sessions.mounted())
    }

    /// Lets go, in the background, of what was made ahead and adopted by a session that
    /// could not be made.
    fn forget_adopted(self: &Arc<Self>, host_id: u32) {
        let inner = Arc::clone(self);
        tokio::spawn(async move { inner.backend.forget("", host_id).await });
    }
}
