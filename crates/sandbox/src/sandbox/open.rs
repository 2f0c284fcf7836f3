//! Opening a sandbox: create the folders, probe the host, start the backend.

use super::create_rate::CreateRate;
use super::start_backend::{StartedBackend, explain_missing, start_backend};
use super::{Inner, Sandbox};
use crate::backend::SandboxBackend;
use crate::container::{ContainerInfo, ContainerStore};
use crate::egress::{Egress, TlsInterceptor};
use crate::error::{Error, ErrorContext};
use crate::packages::builds::Builds;
use crate::packages::layer_store::LayerStore;
use crate::probe::{Grade, Probe, missing_check};
use crate::queue::Queue;
use crate::runtimes::{self, RuntimeSource};
use crate::settings::{BackendKind, SandboxSettings};
use crate::skills::SkillCache;
use crate::statistics::CommandCounters;
use futures_util::future::BoxFuture;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The error when the sandbox's folder cannot be used.
const CREATE_FAILED: &str = "cannot create the sandbox's folder";

/// Folders of the state folder.
const STATE_FOLDERS: [&str; 4] = ["stage", "sessions", "skills", "layers"];

impl Sandbox {
    /// Probes the host and starts the backend.
    ///
    /// # Errors
    /// [`Error::Refused`] when the host lacks required layers, or optional ones that the
    /// settings do not accept as missing.
    pub fn open(mut settings: SandboxSettings) -> BoxFuture<'static, Result<Self, Error>> {
        Box::pin(async move {
            let runtime_in_use = runtimes::pin(&mut settings)?;
            let (probe, backend) = probe_host(&settings).await?;
            let backend = accept(&probe, backend, &settings)?;
            let state = state_folder(
                &fs::canonicalize(&settings.folder).at(CREATE_FAILED, &settings.folder)?,
            );
            let root = is_root();
            let interceptor = settings.open_tls.then(|| {
                let runtime = match &settings.runtime {
                    RuntimeSource::Folder(folder) => folder.clone(),
                    // Only another backend gets here with a name, and it has its own files.
                    RuntimeSource::Installed(_) => PathBuf::from("/"),
                };
                TlsInterceptor::new(runtime, settings.extra_ca_file.clone())
            });
            let egress = Egress::new(Arc::clone(&settings.dial), interceptor.transpose()?);
            let containers = ContainerStore::new(&state, root, &settings);
            // Containers of other and earlier processes are indexed before the first request.
            containers.clean_up();
            containers.sync();
            let layers = LayerStore::new(&state, root, settings.layer_bytes);
            let skills = SkillCache::new(&state, settings.skill_bytes, settings.container_life);
            let builds = Builds::new(settings.running);
            let queue = Queue::new(&settings);
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let sandbox = Self {
                inner: Arc::new(Inner {
                    state,
                    root,
                    containers,
                    queue,
                    counters: CommandCounters::default(),
                    create_rate: CreateRate::new(cores),
                    probe,
                    backend,
                    has_proxy: matches!(settings.backend, BackendKind::Native),
                    egress,
                    packages: settings.packages,
                    npm_registry: settings.npm_registry,
                    layers,
                    skills,
                    builds,
                    _runtime: runtime_in_use,
                }),
            };
            Ok(sandbox)
        })
    }

    /// Probes the host without starting the backend, to report what is missing.
    ///
    /// # Errors
    /// When the settings' folder cannot be used.
    pub fn probe(settings: &SandboxSettings) -> BoxFuture<'_, Result<Probe, Error>> {
        Box::pin(async move {
            let mut settings = settings.clone();
            match runtimes::pin(&mut settings) {
                Ok(_in_use) => Ok(probe_host(&settings).await?.0),
                Err(Error::Refused { reason, advice }) => Ok(Probe {
                    checks: vec![missing_check("runtime", reason.clone(), &advice)],
                    grade: Grade::Refused { reason },
                }),
                Err(error) => Err(error),
            }
        })
    }

    /// The stored containers, the most recently used first, without starting the backend:
    /// for operators.
    #[must_use]
    pub fn stored_containers(settings: &SandboxSettings) -> Vec<ContainerInfo> {
        container_store(settings).list()
    }

    /// Removes a container of any owner: for operators.
    ///
    /// # Errors
    /// When the container does not exist, or is in use.
    pub async fn remove(settings: &SandboxSettings, id: &str) -> Result<(), Error> {
        let containers = container_store(settings);
        let known = containers
            .list()
            .into_iter()
            .find(|container| container.id == id);
        let owner = known.map(|container| container.owner).unwrap_or_default();
        let held = containers.acquire(&owner, id).await?;
        containers.destroy(&held)
    }
}

/// How to run without the layers that are missing.
const ACCEPT_REDUCED: &str = "accept a reduced sandbox with --reduced on the command line, or \
    reduced = true under [sandbox] in prowess.toml";

/// The backend, unless required layers are missing, or optional ones that are not
/// accepted as missing.
fn accept(
    probe: &Probe,
    backend: Option<Arc<dyn SandboxBackend>>,
    settings: &SandboxSettings,
) -> Result<Arc<dyn SandboxBackend>, Error> {
    let mut advice: Vec<&str> = Vec::new();
    for text in probe.checks.iter().filter_map(|c| c.advice.as_deref()) {
        if !advice.contains(&text) {
            advice.push(text);
        }
    }
    let advice = advice.join("; ");
    match &probe.grade {
        Grade::Refused { reason } => Err(Error::Refused {
            reason: reason.clone(),
            advice,
        }),
        Grade::Reduced { missing } if !settings.allow_reduced => Err(Error::Refused {
            reason: describe_missing(missing, &settings.backend),
            advice: format!("{advice}; or {ACCEPT_REDUCED}"),
        }),
        Grade::Strict | Grade::Reduced { .. } => backend.ok_or(Error::LauncherGone),
    }
}

/// The missing layers; for those that the Docker backend never has, with the reason.
fn describe_missing(missing: &[String], backend: &BackendKind) -> String {
    let explained = |name: &String| match explain_missing(backend, name) {
        Some(why) => format!("{name} ({why})"),
        None => name.clone(),
    };
    let missing: Vec<String> = missing.iter().map(explained).collect();
    format!("missing: {}", missing.join(", "))
}

fn container_store(settings: &SandboxSettings) -> ContainerStore {
    ContainerStore::new(&state_folder(&settings.folder), is_root(), settings)
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// Creates the folders and probes.
async fn probe_host(settings: &SandboxSettings) -> Result<StartedBackend, Error> {
    let state = make_folders(&settings.folder)?;
    start_backend(&state, settings).await
}

fn state_folder(folder: &Path) -> PathBuf {
    folder.join("state")
}

/// The outer folder is closed to all other users of the host. If the server is root, the
/// folders in it must be passable for the ids that sandboxes run as.
fn make_folders(folder: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder).at(CREATE_FAILED, folder)?;
    let folder = fs::canonicalize(folder).at(CREATE_FAILED, folder)?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).at(CREATE_FAILED, &folder)?;
    let state = state_folder(&folder);
    let mode = if is_root() { 0o711 } else { 0o700 };
    for place in std::iter::once(state.clone()).chain(STATE_FOLDERS.map(|name| state.join(name))) {
        fs::create_dir_all(&place).at(CREATE_FAILED, &place)?;
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).at(CREATE_FAILED, &place)?;
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{ProbeCheck, grade};

    fn refusal(checks: Vec<ProbeCheck>, backend: BackendKind) -> String {
        let probe = Probe {
            grade: grade(&checks),
            checks,
        };
        let mut settings = SandboxSettings::new(PathBuf::from("/nowhere"));
        settings.backend = backend;
        accept(&probe, None, &settings).unwrap_err().to_string()
    }

    #[cfg(feature = "docker")]
    #[test]
    fn what_docker_lacks_is_named_once_with_the_reason_and_the_way_to_accept_it() {
        let docker = BackendKind::Docker(crate::settings::DockerSettings::default());
        let message = refusal(crate::docker::unavailable_checks(), docker);
        for expected in [
            "landlock (",
            "hidden kernel tables (",
            "hard quota over container files (",
            "the native backend",
            "--reduced on the command line",
            "reduced = true under [sandbox] in prowess.toml",
        ] {
            assert_eq!(
                message.matches(expected).count(),
                1,
                "{expected}: {message}"
            );
        }
    }

    #[test]
    fn what_a_host_lacks_is_named_without_its_paths() {
        let path = "/sys/fs/cgroup/mine: denied".to_owned();
        let checks = vec![missing_check("control groups", path, "delegate one")];
        assert_eq!(
            refusal(checks, BackendKind::Native),
            "the sandbox is refused on this host: missing: control groups; delegate one; or \
             accept a reduced sandbox with --reduced on the command line, or reduced = true \
             under [sandbox] in prowess.toml"
        );
    }
}
