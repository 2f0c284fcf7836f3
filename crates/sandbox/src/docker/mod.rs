//! The other backend: a Docker daemon. One hardened container per session, started
//! ahead of each command and killed after it, so that nothing a command starts lives on.
//!
//! What holds a command here is Docker's and the kernel's, configured by `container`;
//! our own system call filter is handed to the daemon. Compared with the native backend
//! there is no Landlock, `/proc` and `/sys` show more of the kernel, and the bound on
//! written files is checked while the command runs instead of being a file system's
//! size: so this backend is never graded strict. It gives no network and builds no
//! package layers.
//!
//! A container lives on a leash: its pid 1 reads from a stream that this process holds
//! open, and ends, with everything in the container, when this process does.

mod container;
mod exec;
mod probe;

#[cfg(test)]
pub(crate) use probe::never;
pub(crate) use probe::{probe, why_missing};

use crate::backend::{Backend, Ended, Job, Next, blocking};
use crate::collect;
use crate::egress::BoxFuture;
use crate::error::{DockerError, During, Error};
use crate::policy::Limits;
use bollard::container::AttachContainerResults;
use bollard::models::ContainerState;
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, ListContainersOptionsBuilder, RemoveContainerOptionsBuilder,
};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Seconds the daemon may take to answer.
const PATIENCE: u64 = 60;

/// Which daemon, and what it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DockerSettings {
    /// The daemon's socket.
    pub socket: PathBuf,
    /// The image to run commands in. It must be there: nothing is ever pulled.
    pub image: String,
}

impl Default for DockerSettings {
    fn default() -> Self {
        Self {
            socket: "/var/run/docker.sock".into(),
            image: "python:3-slim".into(),
        }
    }
}

/// The backend.
#[derive(Clone)]
pub(crate) struct Docker {
    client: bollard::Docker,
    image: String,
    state: PathBuf,
    root: bool,
    /// Per session, the leash of its container while that waits for a command.
    waiting: Arc<Mutex<HashMap<String, Shared>>>,
}

/// A session's leash. Locked while its container is being started or taken.
type Shared = Arc<tokio::sync::Mutex<Option<Leash>>>;

/// Keeps a container alive; dropped, the container ends.
struct Leash {
    _stdin: AttachContainerResults,
}

impl std::fmt::Debug for Docker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Docker")
            .field("image", &self.image)
            .finish_non_exhaustive()
    }
}

/// Says what was asked of the daemon when it failed.
trait Asked<T> {
    fn asked(self, what: &'static str) -> Result<T, Error>;
}

impl<T> Asked<T> for Result<T, bollard::errors::Error> {
    fn asked(self, what: &'static str) -> Result<T, Error> {
        self.map_err(|error| {
            tracing::warn!(what, %error, "the Docker daemon did not do as asked");
            let source = DockerError(error.to_string());
            Error::Docker { what, source }
        })
    }
}

/// The name of a session's container.
fn name(session: &str) -> String {
    format!("prowess-{session}")
}

impl Docker {
    async fn connect(settings: &DockerSettings, state: &Path, root: bool) -> Result<Self, Error> {
        let socket = settings.socket.to_string_lossy();
        let version = bollard::API_DEFAULT_VERSION;
        let client = bollard::Docker::connect_with_unix(&socket, PATIENCE, version);
        let client = client.asked("connecting")?;
        Ok(Self {
            client: client.negotiate_version().await.asked("connecting")?,
            image: settings.image.clone(),
            state: state.to_owned(),
            root,
            waiting: Arc::default(),
        })
    }

    async fn run(&self, job: Job) -> Result<Ended, Error> {
        let argv = job.execution.command.argv()?;
        let work = self.mirror(&job).await?;
        let leash = self.take(&job).await?;
        exec::run(self, leash, argv, &work, job).await
    }

    /// Brings the folder that the container writes to in line with the session's.
    async fn mirror(&self, job: &Job) -> Result<PathBuf, Error> {
        let data = self.state.join(&job.data);
        let work = data.with_file_name("work");
        let (owner, place) = (self.root.then_some(job.host_id), work.clone());
        blocking(move || {
            if !fs::symlink_metadata(&place).is_ok_and(|found| found.is_dir()) {
                make_folder(&place, owner)?;
            }
            collect::mirror(&data, &place, owner)
        })
        .await?;
        Ok(work)
    }

    /// The leash of a running container of the job's session.
    async fn take(&self, job: &Job) -> Result<Leash, Error> {
        let shared = self.leash_of(&job.session);
        if let Some(leash) = shared.lock().await.take()
            && self.state_of(&job.session).await.running == Some(true)
        {
            return Ok(leash);
        }
        // Whatever has that name was left by a process that is no more.
        self.remove(&job.session).await;
        let body = container::hardened(self, job);
        let options = bollard::query_parameters::CreateContainerOptionsBuilder::default()
            .name(&name(&job.session))
            .build();
        let created = self.client.create_container(Some(options), body).await;
        created.asked("making a container")?;
        self.start(&job.session).await
    }

    /// Starts a session's container, on a leash.
    async fn start(&self, session: &str) -> Result<Leash, Error> {
        let options = AttachContainerOptionsBuilder::default()
            .stdin(true)
            .stream(true)
            .build();
        let name = name(session);
        let stdin = self.client.attach_container(&name, Some(options)).await;
        let leash = Leash {
            _stdin: stdin.asked("attaching to a container")?,
        };
        let started = self.client.start_container(&name, None).await;
        started.asked("starting a container")?;
        Ok(leash)
    }

    /// The state of a session's container; nothing in it if there is none.
    async fn state_of(&self, session: &str) -> ContainerState {
        let found = self.client.inspect_container(&name(session), None).await;
        let state = found.ok().and_then(|found| found.state);
        state.unwrap_or_default()
    }

    /// Removes a session's container, and kills what is in it. None there is fine.
    async fn remove(&self, session: &str) {
        self.remove_named(&name(session)).await;
    }

    async fn remove_named(&self, name: &str) {
        let options = RemoveContainerOptionsBuilder::default()
            .force(true)
            .v(true)
            .build();
        let _ = self.client.remove_container(name, Some(options)).await;
    }

    fn leash_of(&self, session: &str) -> Shared {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(waiting.entry(session.to_owned()).or_default())
    }

    fn forget_leash(&self, session: &str) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.remove(session);
    }

    /// The containers of this state folder, as session and name.
    async fn containers(&self) -> Vec<(String, String)> {
        let label = format!("{}={}", container::STATE, self.state.display());
        let options = ListContainersOptionsBuilder::default()
            .all(true)
            .filters(&HashMap::from([("label", vec![label.as_str()])]))
            .build();
        let found = self.client.list_containers(Some(options)).await;
        let with_name = |one: bollard::models::ContainerSummary| {
            let name = one.names?.into_iter().next()?;
            let name = name.trim_start_matches('/').to_owned();
            Some((name.strip_prefix("prowess-")?.to_owned(), name))
        };
        let found = found.unwrap_or_default().into_iter();
        found.filter_map(with_name).collect()
    }
}

fn make_folder(place: &Path, owner: Option<u32>) -> Result<(), Error> {
    const MAKING: &str = "the folder of a container could not be made";
    fs::create_dir(place).at(MAKING, place)?;
    fs::set_permissions(place, fs::Permissions::from_mode(0o700)).at(MAKING, place)?;
    std::os::unix::fs::lchown(place, owner, owner).at(MAKING, place)
}

impl Backend for Docker {
    fn run(&self, job: Job) -> BoxFuture<'_, Result<Ended, Error>> {
        Box::pin(self.run(job))
    }

    /// Starts the session's container again. For sessions yet to come nothing is made:
    /// their containers show skills that no one knows yet.
    fn make_ready(&self, next: Next) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let Some(session) = next.session else {
                return Ok(());
            };
            let shared = self.leash_of(&session);
            let mut leash = shared.lock().await;
            if leash.is_none() {
                *leash = Some(self.start(&session).await?);
            }
            Ok(())
        })
    }

    fn ready(&self) -> usize {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let held = |shared: &&Shared| shared.try_lock().is_ok_and(|leash| leash.is_some());
        waiting.values().filter(held).count()
    }

    fn adopt(&self, _: &Limits) -> Option<u32> {
        None
    }

    fn forget<'a>(&'a self, session: &'a str, _: u32) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let shared = self.leash_of(session);
            let _leash = shared.lock().await;
            self.remove(session).await;
            self.forget_leash(session);
        })
    }

    fn keep_only<'a>(&'a self, sessions: &'a [String]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for (session, name) in self.containers().await {
                if !sessions.contains(&session) {
                    self.remove_named(&name).await;
                    self.forget_leash(&session);
                }
            }
        })
    }
}
