//! Probes the daemon by running a script in a Docker container.

use super::{DockerBackend, DockerContext};
use crate::backend::{CommandJob, SandboxBackend};
use crate::collect::DiskUsage;
use crate::container::{self, ContainerStore};
use crate::error::Error;
use crate::execution::{Command, CommandOutcome, Execution};
use crate::policy::SandboxLimits;
use crate::probe::{
    Grade, PROBE_SCRIPT, Probe, ProbeCheck, evaluate_checks, grade, missing_check, passed_check,
};
use crate::settings::{DockerSettings, SandboxSettings};
use std::path::Path;
use std::sync::Arc;

/// The lines expected when all requested restrictions are in force.
const EXPECTED: [(&str, &str); 7] = [
    ("no capabilities", "CapEff: 0000000000000000"),
    ("no capabilities to gain", "CapBnd: 0000000000000000"),
    ("no new privileges", "NoNewPrivs: 1"),
    ("system call filter", "Seccomp: 2"),
    ("no network but loopback", "interfaces 1"),
    ("writable data folder", "data ok"),
    ("container files", "lower ok"),
];

/// Layers that no Docker container has. Tables of the kernel could be masked, but not
/// `/proc/sys`: runtimes read it from within to start a command.
const UNAVAILABLE: [(&str, &str); 3] = [
    ("landlock", "containers are not confined by it"),
    (
        "hidden kernel tables",
        "/proc and /sys show more of the kernel than they need to, read-only",
    ),
    (
        "hard quota over container files",
        "written files are measured while a command runs, not bounded by a file system",
    ),
];

/// Probes, and returns the result and the backend, unless the host is refused.
pub(crate) async fn probe(
    docker: &DockerSettings,
    state: &Path,
    settings: &SandboxSettings,
) -> (Probe, Option<Arc<dyn SandboxBackend>>) {
    match attempt(docker, state, settings).await {
        Ok((backend, mut checks)) => {
            checks.extend(unavailable_checks());
            let grade = grade(&checks);
            let usable = !matches!(grade, Grade::Refused { .. });
            let backend = usable.then(|| Arc::new(backend) as _);
            (Probe { grade, checks }, backend)
        }
        Err(error) => {
            let (reason, detail) = match error {
                Error::Refused { reason, .. } => (reason.clone(), reason),
                error => (error.to_string(), error.detail()),
            };
            let grade = Grade::Refused { reason };
            let checks = vec![missing_check("docker", detail, DOCKER_ADVICE)];
            (Probe { grade, checks }, None)
        }
    }
}

/// The unavailable layers, as failed checks.
pub(crate) fn unavailable_checks() -> Vec<ProbeCheck> {
    let never = UNAVAILABLE.into_iter();
    never
        .map(|(name, why)| missing_check(name, why.into(), USE_NATIVE_ADVICE))
        .collect()
}

/// Why no Docker container has a layer, without paths of the host.
pub(crate) fn explain_missing(name: &str) -> Option<&'static str> {
    let mut never = UNAVAILABLE.into_iter();
    never
        .find(|(lacking, _)| *lacking == name)
        .map(|(_, why)| why)
}

const USE_NATIVE_ADVICE: &str = "use the native backend, which has what containers lack: backend = \
    \"native\" under [sandbox] in prowess.toml";

const DOCKER_ADVICE: &str = "start a Docker daemon that this user may use, load an image with a shell and \
    python3, and name both as docker_socket and docker_image under [sandbox] in prowess.toml";

async fn attempt(
    docker: &DockerSettings,
    state: &Path,
    settings: &SandboxSettings,
) -> Result<(DockerBackend, Vec<ProbeCheck>), Error> {
    let root = rustix::process::getuid().is_root();
    let backend = DockerBackend::connect(docker, state, root).await?;
    let version = backend
        .client
        .version()
        .await
        .docker_context("reading its version")?;
    let version = version.version.unwrap_or_default();
    let image = backend.client.inspect_image(&docker.image).await;
    image.docker_context("finding the image (images are never pulled)")?;
    let containers = ContainerStore::new(state, root, settings);
    let kept: Vec<String> = containers.list().into_iter().map(|one| one.id).collect();
    backend.keep_only(&kept).await;
    let seen = probe_inside(&backend, &containers, state).await?;
    let mut checks = vec![
        passed_check("docker", format!("{version}, image {}", docker.image)),
        passed_check("control groups", "docker: memory, pids, cpu".into()),
    ];
    checks.push(user_check(&seen));
    checks.extend(evaluate_checks(&seen, &EXPECTED, &["written "]));
    Ok((backend, checks))
}

fn user_check(seen: &str) -> ProbeCheck {
    let uid = seen.lines().find_map(|line| line.strip_prefix("uid "));
    match uid {
        Some(uid) if uid != "0" => passed_check("unprivileged user", format!("uid {uid}")),
        _ => missing_check(
            "unprivileged user",
            "commands run as root".into(),
            DOCKER_ADVICE,
        ),
    }
}

async fn probe_inside(
    backend: &DockerBackend,
    containers: &ContainerStore,
    state: &Path,
) -> Result<String, Error> {
    let (trial, host_id) = containers.make_trial()?;
    let folder = state.join(&trial);
    let owner = containers.owner_id(host_id);
    let limits = SandboxLimits::default();
    container::put(
        &folder.join("data"),
        "before",
        b"x",
        owner,
        &limits,
        &|_| Ok(()),
    )?;
    let id = trial.rsplit('.').next().unwrap_or_default().to_owned();
    let job = CommandJob {
        execution: Execution {
            command: Command::Argv(vec!["/bin/sh".into(), "-c".into(), PROBE_SCRIPT.into()]),
            ..Execution::default()
        },
        container_id: id.clone(),
        limits: SandboxLimits::default(),
        running: 1,
        proxy: None,
        host_id,
        data: format!("{trial}/data"),
        usage: DiskUsage {
            bytes: 1,
            entries: 1,
        },
        mounts: Vec::new(),
    };
    let ended = SandboxBackend::run(backend, job).await;
    backend.forget(&id, host_id).await;
    // A leftover is never listed.
    let _ = container::remove_folder(&folder);
    let ended = ended?;
    if ended.outcome == CommandOutcome::Exit(0) {
        return Ok(ended.stdout.text);
    }
    Err(Error::Refused {
        reason: format!(
            "the probe failed ({}): {}",
            ended.outcome, ended.stderr.text
        ),
        advice: DOCKER_ADVICE.into(),
    })
}
