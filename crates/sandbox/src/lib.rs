//! The one place that starts processes: hostile code, real isolation, milliseconds.
//!
//! A [`Sandbox`] is opened once per server. It looks at the host by really trying
//! ([`Probe`]), and then runs commands in sessions: a session has an owner, a policy,
//! read-only skills at `/skills/NAME` and files at `/mnt/data`; each command runs in a
//! sandbox of its own, and what it left in `/mnt/data` is collected when all its
//! processes are dead.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `policy` | what a sandbox may have: limits, network |
//! | `execution` | what to run, and what came of it |
//! | `native` | the default backend: slots, control groups, one run |
//! | `collect` | taking what was written, safely |
//! | `egress` | the proxy: the only way out, to named domains |
//! | `session` | owners, files, expiry, eviction |
//! | `skills` | skills on disk, once per digest |
//! | `packages` | requirements to read-only layers |
//! | `probe` | what this host can give |
//! | `queue` | who may run now |
//!
//! It knows nothing of HTTP, models or tools. What needs `unsafe` is in the launcher.

mod capture;
pub mod collect;
pub mod egress;
mod error;
pub mod execution;
mod id;
mod name;
mod native;
pub mod packages;
pub mod policy;
pub mod probe;
mod queue;
pub mod session;
mod settings;
mod skills;

pub use collect::{Output, Reason, Skipped};
pub use egress::{Connection, Dial, DomainRule, Secret, SystemDial, Verdict};
pub use error::Error;
pub use execution::{Captured, Chunk, Command, Execution, LimitHit, Outcome, Report, Stream};
pub use packages::{Layer, PackageIndex, Requirements};
pub use policy::{Limits, Network, OutputLimits, Policy};
pub use probe::{Check, Grade, Probe};
pub use session::{FileInfo, SessionInfo};
pub use settings::Settings;
pub use skills::{SkillFile, SkillFiles};

use egress::Proxy;
use error::During;
use native::{Job, Native, blocking};
use queue::Queue;
use session::{Held, Sessions};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folders of the state folder.
const FOLDERS: [&str; 4] = ["stage", "sessions", "skills", "layers"];

/// The owner of sessions in which layers are built; no tenant can have this name.
const LAYER_OWNER: &str = "\0layers";

/// Tells what a layer depends on beside its requirements.
const INTERPRETER: &str =
    "import sys, sysconfig; print(sys.implementation.cache_tag, sysconfig.get_platform())";

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
    sessions: Sessions,
    queue: Queue,
    probe: Probe,
    native: Native,
    dial: Arc<dyn Dial>,
    packages: Option<PackageIndex>,
    /// Held while a layer is built, so that the same one is not built twice.
    building: tokio::sync::Mutex<()>,
}

impl Sandbox {
    /// Looks at the host and gets ready.
    ///
    /// # Errors
    /// [`Error::Refused`] when the host gives too little, or less than all and the
    /// settings do not accept that.
    pub async fn open(settings: Settings) -> Result<Self, Error> {
        let (probe, native) = look(&settings).await?;
        let advice = || {
            let advice = probe
                .checks
                .iter()
                .filter_map(|check| check.advice.as_deref());
            advice.collect::<Vec<_>>().join("; ")
        };
        let native = match (&probe.grade, native) {
            (Grade::Refused { reason }, _) => {
                return Err(Error::Refused {
                    reason: reason.clone(),
                    advice: advice(),
                });
            }
            (Grade::Reduced { missing }, _) if !settings.allow_reduced => {
                let reason = format!("missing: {}", missing.join(", "));
                let advice = format!("{}; or accept a reduced sandbox in the settings", advice());
                return Err(Error::Refused { reason, advice });
            }
            (_, Some(native)) => native,
            (_, None) => return Err(Error::LauncherGone),
        };
        let state = state_folder(&settings.folder);
        let root = rustix::process::getuid().is_root();
        let sessions = Sessions::new(&state, root, &settings);
        let queue = Queue::new(settings.running, settings.waiting);
        Ok(Self {
            inner: Arc::new(Inner {
                state,
                sessions,
                queue,
                probe,
                native,
                dial: settings.dial,
                packages: settings.packages,
                building: tokio::sync::Mutex::default(),
            }),
        })
    }

    /// Looks at the host without getting ready: for people who ask what is missing.
    ///
    /// # Errors
    /// When the settings' folder cannot be used.
    pub async fn probe(settings: &Settings) -> Result<Probe, Error> {
        Ok(look(settings).await?.0)
    }

    /// What was found when this was opened.
    #[must_use]
    pub fn level(&self) -> &Probe {
        &self.inner.probe
    }

    /// Commands that run, and that wait.
    #[must_use]
    pub fn load(&self) -> (usize, usize) {
        self.inner.queue.load()
    }

    /// Makes a session.
    ///
    /// # Errors
    /// When a skill's name or files cannot become paths, or the disk is full.
    pub async fn create(&self, owner: &str, new: NewSession) -> Result<String, Error> {
        let (inner, owner) = (Arc::clone(&self.inner), owner.to_owned());
        blocking(move || {
            let layer = new
                .layer
                .map(|layer| Ok((layer.folder(), packages::INSIDE.to_owned())));
            let mounts = new.skills.iter().map(|skill| {
                let folder = skills::materialise(&inner.state, skill)?;
                Ok((folder, format!("/skills/{}", skill.name)))
            });
            let mounts = mounts.chain(layer).collect::<Result<_, Error>>()?;
            let host_id = inner.native.adopt(&new.policy.limits);
            inner.sessions.create(&owner, new.policy, mounts, host_id)
        })
        .await
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
            for skill in &skills {
                let folder = skills::materialise(&inner.state, skill)?;
                let place = format!("/skills/{}", skill.name);
                held.meta.mounts.retain(|(_, known)| *known != place);
                held.meta.mounts.push((folder, place));
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

    /// Runs a command in a session, after those that are before it.
    ///
    /// # Errors
    /// [`Error::Busy`] when too many wait, [`Error::NoSession`] when it is not the
    /// owner's; what goes wrong inside is part of the report.
    pub async fn exec(&self, owner: &str, id: &str, execution: Execution) -> Result<Report, Error> {
        self.exec_by(owner, id, execution, None).await
    }

    /// The same, by a proxy that is not the policy's.
    async fn exec_by(
        &self,
        owner: &str,
        id: &str,
        execution: Execution,
        proxy: Option<Arc<Proxy>>,
    ) -> Result<Report, Error> {
        let mut held = self.inner.sessions.hold(owner, id).await?;
        let _turn = self.inner.queue.turn(owner).await?;
        let meta = &held.meta;
        let job = Job {
            proxy: proxy.or_else(|| self.inner.proxy(&meta.policy.network, &execution)),
            execution,
            limits: meta.policy.limits.clone(),
            host_id: meta.host_id,
            data: format!("sessions/{id}/data"),
            usage: meta.usage,
            mounts: meta.mounts.clone(),
        };
        let ran = self.inner.native.run(job).await?;
        let inner = Arc::clone(&self.inner);
        let report = blocking(move || {
            let report = inner.native.collect(ran, inner.probe.grade.clone())?;
            held.save()?;
            let limits = held.meta.policy.limits.clone();
            inner.warm_up(Some(held.meta.host_id), limits);
            Ok(report)
        })
        .await?;
        Ok(report)
    }

    /// Makes a sandbox of this policy ahead, so that a new session's first command need
    /// not wait for one. Returns at once.
    pub fn warm_up(&self, policy: &Policy) {
        self.inner.warm_up(None, policy.limits.clone());
    }

    /// How many sandboxes wait, made ahead.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.inner.native.ready()
    }

    /// The layer of these requirements, built now if it is not there yet.
    ///
    /// # Errors
    /// [`Error::Layer`] when there is no index, or it cannot satisfy the requirements.
    pub async fn layer(&self, requirements: &Requirements) -> Result<Layer, Error> {
        let Some(index) = &self.inner.packages else {
            let why = "no package index is set".into();
            return Err(Error::Layer { why });
        };
        let _building = self.inner.building.lock().await;
        let policy = Policy {
            limits: packages::limits(),
            ..Policy::default()
        };
        let id = self.create(LAYER_OWNER, policy.into()).await?;
        let built = self.build(&id, index, requirements).await;
        self.destroy(LAYER_OWNER, &id).await?;
        built
    }

    async fn build(
        &self,
        id: &str,
        index: &PackageIndex,
        requirements: &Requirements,
    ) -> Result<Layer, Error> {
        let about = Execution {
            command: Command::Python(INTERPRETER.into()),
            ..Execution::default()
        };
        let about = self.exec(LAYER_OWNER, id, about).await?;
        let layer = Layer {
            key: requirements.key(&about.stdout.text, &index.url),
        };
        let place = self.inner.state.join(layer.folder());
        if place.is_dir() {
            return Ok(layer);
        }
        let text = requirements.text().as_bytes().to_vec();
        self.put(LAYER_OWNER, id, "requirements.txt", text).await?;
        let install = Execution {
            command: Command::Argv(packages::command(index)),
            ..Execution::default()
        };
        let proxy = Proxy::trusting(index.hosts.clone(), Arc::clone(&self.inner.dial));
        let report = self.exec_by(LAYER_OWNER, id, install, Some(proxy)).await?;
        if report.outcome != Outcome::Exit(0) {
            let why = format!(
                "{:?}: {}{}",
                report.outcome, report.stdout.text, report.stderr.text
            );
            return Err(Error::Layer { why });
        }
        self.with(LAYER_OWNER, id, move |held| {
            let built = held.data().join(packages::BUILT);
            fs::rename(&built, &place).during(place.display())
        })
        .await?;
        Ok(layer)
    }

    /// Writes a file into a session.
    ///
    /// # Errors
    /// When the path is not one, or the session cannot hold it.
    pub async fn put(
        &self,
        owner: &str,
        id: &str,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<(), Error> {
        let mut held = self.inner.sessions.hold(owner, id).await?;
        let (inner, path) = (Arc::clone(&self.inner), path.to_owned());
        blocking(move || {
            let (data, allowed) = (held.data(), held.meta.policy.limits.data_bytes);
            let owner = inner.sessions.owner_id(held.meta.host_id);
            session::put(&data, &path, &bytes, owner, allowed)?;
            held.save()
        })
        .await
    }

    /// Opens a file of a session for reading.
    ///
    /// # Errors
    /// [`Error::NoFile`] when it is not there or not a regular file.
    pub async fn get(&self, owner: &str, id: &str, path: &str) -> Result<fs::File, Error> {
        let path = path.to_owned();
        self.with(owner, id, move |held| session::open(&held.data(), &path))
            .await
    }

    /// Removes a file of a session.
    ///
    /// # Errors
    /// [`Error::NoFile`] when it is not there or not a regular file.
    pub async fn unlink(&self, owner: &str, id: &str, path: &str) -> Result<(), Error> {
        let mut held = self.inner.sessions.hold(owner, id).await?;
        let path = path.to_owned();
        blocking(move || {
            session::remove(&held.data(), &path)?;
            held.save()
        })
        .await
    }

    /// The files of a session.
    ///
    /// # Errors
    /// When there is no such session.
    pub async fn list(&self, owner: &str, id: &str) -> Result<Vec<FileInfo>, Error> {
        self.with(owner, id, |held| session::list(&held.data()))
            .await
    }

    /// Removes a session and its files.
    ///
    /// # Errors
    /// When there is no such session.
    pub async fn destroy(&self, owner: &str, id: &str) -> Result<(), Error> {
        let held = self.inner.sessions.hold(owner, id).await?;
        let inner = Arc::clone(&self.inner);
        blocking(move || {
            inner.native.forget(held.meta.host_id);
            inner.sessions.destroy(&held)
        })
        .await
    }

    /// All sessions, the most recently used first.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.inner.sessions.list()
    }

    /// The sessions kept under some settings, the most recently used first, without
    /// getting ready to run anything: for operators.
    #[must_use]
    pub fn kept(settings: &Settings) -> Vec<SessionInfo> {
        at_rest(settings).list()
    }

    /// Removes a session, whoever it belongs to: for operators.
    ///
    /// # Errors
    /// When there is no such session, or it is in use.
    pub async fn remove(settings: &Settings, id: &str) -> Result<(), Error> {
        let sessions = at_rest(settings);
        let known = sessions.list().into_iter().find(|session| session.id == id);
        let owner = known.map(|session| session.owner).unwrap_or_default();
        let held = sessions.hold(&owner, id).await?;
        sessions.destroy(&held)
    }

    /// Removes expired sessions now, and returns how many there were.
    pub async fn expire(&self) -> Result<usize, Error> {
        let inner = Arc::clone(&self.inner);
        blocking(move || Ok(inner.sessions.expire())).await
    }

    async fn with<T: Send + 'static>(
        &self,
        owner: &str,
        id: &str,
        work: impl FnOnce(&Held) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let held = self.inner.sessions.hold(owner, id).await?;
        blocking(move || work(&held)).await
    }
}

impl Inner {
    fn proxy(&self, network: &Network, execution: &Execution) -> Option<Arc<Proxy>> {
        match network {
            Network::Off => None,
            Network::Allow(domains) => {
                let (domains, secrets) = (domains.clone(), execution.secrets.clone());
                Some(Proxy::new(domains, secrets, Arc::clone(&self.dial)))
            }
        }
    }

    /// Makes a sandbox ahead in the background: the next one of the session that has
    /// `host_id`, or a spare one. That it fails is told when one is made in earnest.
    fn warm_up(self: &Arc<Self>, host_id: Option<u32>, limits: Limits) {
        let inner = Arc::clone(self);
        tokio::task::spawn_blocking(move || match host_id {
            Some(host_id) => inner.native.make_ready(host_id, &limits),
            None => inner
                .native
                .make_spare(inner.sessions.free_host_id()?, &limits),
        });
    }
}

fn at_rest(settings: &Settings) -> Sessions {
    let root = rustix::process::getuid().is_root();
    Sessions::new(&state_folder(&settings.folder), root, settings)
}

/// Makes the folders and probes.
async fn look(settings: &Settings) -> Result<(Probe, Option<Native>), Error> {
    let state = make_folders(&settings.folder)?;
    let root = rustix::process::getuid().is_root();
    let base = native::base::describe(&state, &settings.runtime, root)?;
    let sessions = Sessions::new(&state, root, settings);
    let (trial, host_id) = sessions.make_trial()?;
    let folder = state.join(&trial);
    session::put(
        &folder.join("data"),
        "before",
        b"x",
        sessions.owner_id(host_id),
        1,
    )?;
    let (launcher, cgroup) = (settings.launcher.clone(), settings.cgroup.clone());
    let data = format!("{trial}/data");
    let found = probe::probe(probe::Host {
        launcher,
        base,
        cgroup,
        host_id,
        warm: settings.warm,
        data,
    })
    .await;
    fs::remove_dir_all(&folder).during(folder.display())?;
    Ok(found)
}

fn state_folder(folder: &Path) -> PathBuf {
    folder.join("state")
}

/// The outer folder keeps everyone else on the host out; what is in it must be open to
/// the ids that sandboxes run as.
fn make_folders(folder: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder).during(folder.display())?;
    let folder = fs::canonicalize(folder).during(folder.display())?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).during(folder.display())?;
    let state = state_folder(&folder);
    for place in std::iter::once(state.clone()).chain(FOLDERS.map(|name| state.join(name))) {
        fs::create_dir_all(&place).during(place.display())?;
        fs::set_permissions(&place, fs::Permissions::from_mode(0o711)).during(place.display())?;
    }
    Ok(state)
}
