//! The Docker backend. Each container has one hardened Docker container, started before
//! each command and killed after it, so that no process of a command survives.
//!
//! Isolation is Docker's and the kernel's, configured by `hardening`; the launcher's
//! system call filter is passed to the daemon. Compared with the native backend there is
//! no Landlock, `/proc` and `/sys` show more of the kernel, and the limit on written files
//! is checked while the command runs instead of being a file system's size: so this
//! backend is never graded strict. It has no network access and builds no package layers.
//!
//! Pid 1 of a Docker container reads from a stream that this process keeps open. When this
//! process ends, pid 1 ends, and with it everything in the Docker container.

mod exec;
mod hardening;
mod probe;

#[cfg(test)]
pub(crate) use probe::unavailable_checks;
pub(crate) use probe::{explain_missing, probe};

use crate::backend::{CommandJob, CommandResult, ProvisionRequest, SandboxBackend, run_blocking};
use crate::collect;
use crate::egress::BoxFuture;
use crate::error::{DockerError, Error, ErrorContext};
use crate::policy::SandboxLimits;
use crate::settings::DockerSettings;
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

/// Timeout of requests to the daemon.
const DAEMON_TIMEOUT_SECONDS: u64 = 60;

/// The backend.
#[derive(Clone)]
pub(crate) struct DockerBackend {
    client: bollard::Docker,
    image: String,
    state: PathBuf,
    root: bool,
    /// Per container id, the keep-alive of its Docker container that waits for a command.
    waiting: Arc<Mutex<HashMap<String, SharedKeepalive>>>,
}

/// A keep-alive. Locked while its Docker container is being started or taken.
type SharedKeepalive = Arc<tokio::sync::Mutex<Option<ContainerKeepalive>>>;

/// Keeps a Docker container running until dropped.
struct ContainerKeepalive {
    _stdin: AttachContainerResults,
}

impl std::fmt::Debug for DockerBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Docker")
            .field("image", &self.image)
            .finish_non_exhaustive()
    }
}

/// Adds the failed request to an error of the daemon.
trait DockerContext<T> {
    fn docker_context(self, what: &'static str) -> Result<T, Error>;
}

impl<T> DockerContext<T> for Result<T, bollard::errors::Error> {
    fn docker_context(self, what: &'static str) -> Result<T, Error> {
        self.map_err(|error| {
            tracing::warn!(what, %error, "Docker request failed");
            let source = DockerError(error.to_string());
            Error::Docker { what, source }
        })
    }
}

/// The name of a container's Docker container.
fn docker_name(container_id: &str) -> String {
    format!("prowess-{container_id}")
}

impl DockerBackend {
    async fn connect(settings: &DockerSettings, state: &Path, root: bool) -> Result<Self, Error> {
        let socket = settings.socket.to_string_lossy();
        let version = bollard::API_DEFAULT_VERSION;
        let client = bollard::Docker::connect_with_unix(&socket, DAEMON_TIMEOUT_SECONDS, version);
        let client = client.docker_context("connecting")?;
        Ok(Self {
            client: client
                .negotiate_version()
                .await
                .docker_context("connecting")?,
            image: settings.image.clone(),
            state: state.to_owned(),
            root,
            waiting: Arc::default(),
        })
    }

    async fn run(&self, job: CommandJob) -> Result<CommandResult, Error> {
        let argv = job.execution.command.argv()?;
        let work = self.mirror(&job).await?;
        let keepalive = self.take_container(&job).await?;
        exec::run(self, keepalive, argv, &work, job).await
    }

    /// Copies the container's files to the folder that its Docker container writes to.
    async fn mirror(&self, job: &CommandJob) -> Result<PathBuf, Error> {
        let data = self.state.join(&job.data);
        let work = data.with_file_name("work");
        let (owner, place) = (self.root.then_some(job.host_id), work.clone());
        run_blocking(move || {
            if !fs::symlink_metadata(&place).is_ok_and(|found| found.is_dir()) {
                make_folder(&place, owner)?;
            }
            collect::mirror(&data, &place, owner)
        })
        .await?;
        Ok(work)
    }

    /// The keep-alive of the job's Docker container, started if necessary.
    async fn take_container(&self, job: &CommandJob) -> Result<ContainerKeepalive, Error> {
        let shared = self.keepalive_slot(&job.container_id);
        if let Some(keepalive) = shared.lock().await.take()
            && self.container_state(&job.container_id).await.running == Some(true)
        {
            return Ok(keepalive);
        }
        // One of this name was left by a process that has ended.
        self.remove_container(&job.container_id).await;
        let body = hardening::container_body(self, job);
        let options = bollard::query_parameters::CreateContainerOptionsBuilder::default()
            .name(&docker_name(&job.container_id))
            .build();
        let created = self.client.create_container(Some(options), body).await;
        created.docker_context("creating a container")?;
        self.start_container(&job.container_id).await
    }

    /// Starts a container's Docker container.
    async fn start_container(&self, container_id: &str) -> Result<ContainerKeepalive, Error> {
        let options = AttachContainerOptionsBuilder::default()
            .stdin(true)
            .stream(true)
            .build();
        let name = docker_name(container_id);
        let stdin = self.client.attach_container(&name, Some(options)).await;
        let keepalive = ContainerKeepalive {
            _stdin: stdin.docker_context("attaching to a container")?,
        };
        let started = self.client.start_container(&name, None).await;
        started.docker_context("starting a container")?;
        Ok(keepalive)
    }

    /// The state of a container's Docker container; empty if there is none.
    async fn container_state(&self, container_id: &str) -> ContainerState {
        let found = self
            .client
            .inspect_container(&docker_name(container_id), None)
            .await;
        let state = found.ok().and_then(|found| found.state);
        state.unwrap_or_default()
    }

    /// Kills and removes a container's Docker container, if it exists.
    async fn remove_container(&self, container_id: &str) {
        self.remove_by_name(&docker_name(container_id)).await;
    }

    async fn remove_by_name(&self, name: &str) {
        let options = RemoveContainerOptionsBuilder::default()
            .force(true)
            .v(true)
            .build();
        let _ = self.client.remove_container(name, Some(options)).await;
    }

    fn keepalive_slot(&self, container_id: &str) -> SharedKeepalive {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(waiting.entry(container_id.to_owned()).or_default())
    }

    fn forget_keepalive(&self, container_id: &str) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.remove(container_id);
    }

    /// The Docker containers of this state folder, as container id and name.
    async fn list_containers(&self) -> Vec<(String, String)> {
        let label = format!("{}={}", hardening::STATE_LABEL, self.state.display());
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
    const CREATE_FAILED: &str = "cannot create the folder of a container";
    fs::create_dir(place).at(CREATE_FAILED, place)?;
    fs::set_permissions(place, fs::Permissions::from_mode(0o700)).at(CREATE_FAILED, place)?;
    std::os::unix::fs::lchown(place, owner, owner).at(CREATE_FAILED, place)
}

impl SandboxBackend for DockerBackend {
    fn run(&self, job: CommandJob) -> BoxFuture<'_, Result<CommandResult, Error>> {
        Box::pin(self.run(job))
    }

    /// Starts the container's Docker container again. Nothing is provisioned for future
    /// containers: their skills are not known yet.
    fn provision(&self, next: ProvisionRequest) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let Some(container_id) = next.container_id else {
                return Ok(());
            };
            let shared = self.keepalive_slot(&container_id);
            let mut keepalive = shared.lock().await;
            if keepalive.is_none() {
                *keepalive = Some(self.start_container(&container_id).await?);
            }
            Ok(())
        })
    }

    fn warm_count(&self) -> usize {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let held = |shared: &&SharedKeepalive| {
            shared.try_lock().is_ok_and(|keepalive| keepalive.is_some())
        };
        waiting.values().filter(held).count()
    }

    fn claim_warm(&self, _: &SandboxLimits) -> Option<u32> {
        None
    }

    fn forget<'a>(&'a self, container_id: &'a str, _: u32) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let shared = self.keepalive_slot(container_id);
            let _keepalive = shared.lock().await;
            self.remove_container(container_id).await;
            self.forget_keepalive(container_id);
        })
    }

    fn keep_only<'a>(&'a self, container_ids: &'a [String]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for (container_id, name) in self.list_containers().await {
                if !container_ids.contains(&container_id) {
                    self.remove_by_name(&name).await;
                    self.forget_keepalive(&container_id);
                }
            }
        })
    }
}
