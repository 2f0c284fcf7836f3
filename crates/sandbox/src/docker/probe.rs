//! What the daemon can give, found out by really trying.

use super::{Asked, Docker, DockerSettings};
use crate::backend::{Backend, Job};
use crate::collect::Usage;
use crate::error::Error;
use crate::execution::{Command, Execution, Outcome};
use crate::policy::Limits;
use crate::probe::{Check, Grade, INSIDE, Probe, grade, judge, missing, ok};
use crate::session::{self, Sessions};
use crate::settings::Settings;
use std::path::Path;
use std::sync::Arc;

/// What must come back, line by line, when the container is as hard as it was asked to
/// be.
const EXPECTED: [(&str, &str); 7] = [
    ("no capabilities", "CapEff: 0000000000000000"),
    ("no capabilities to gain", "CapBnd: 0000000000000000"),
    ("no new privileges", "NoNewPrivs: 1"),
    ("system call filter", "Seccomp: 2"),
    ("no network but loopback", "interfaces 1"),
    ("writable /mnt/data", "data ok"),
    ("session files", "lower ok"),
];

/// What no container has, whatever the daemon. Tables of the kernel could be masked, but
/// not `/proc/sys`: runtimes read it themselves, from within, to start a command.
const NEVER: [(&str, &str); 3] = [
    ("landlock", "containers are not confined by it"),
    (
        "hidden kernel tables",
        "/proc and /sys show more of the kernel than they need to, read-only",
    ),
    (
        "hard quota over session files",
        "written files are measured while a command runs, not bounded by a file system",
    ),
];

/// Tries, and returns what was found and the backend to use, unless nothing works.
pub(crate) async fn probe(
    docker: &DockerSettings,
    state: &Path,
    settings: &Settings,
) -> (Probe, Option<Arc<dyn Backend>>) {
    match attempt(docker, state, settings).await {
        Ok((backend, mut checks)) => {
            checks.extend(never());
            let grade = grade(&checks);
            let usable = !matches!(grade, Grade::Refused { .. });
            let backend = usable.then(|| Arc::new(backend) as _);
            (Probe { grade, checks }, backend)
        }
        Err(error) => {
            let grade = Grade::Refused {
                reason: error.to_string(),
            };
            let checks = vec![missing("docker", error.detail(), ADVICE)];
            (Probe { grade, checks }, None)
        }
    }
}

/// What no container has, as checks that failed.
pub(crate) fn never() -> Vec<Check> {
    let never = NEVER.into_iter();
    never
        .map(|(name, why)| missing(name, why.into(), NATIVE))
        .collect()
}

/// Why no container has something, in words that hold no path of the host's own.
pub(crate) fn why_missing(name: &str) -> Option<&'static str> {
    let mut never = NEVER.into_iter();
    never
        .find(|(lacking, _)| *lacking == name)
        .map(|(_, why)| why)
}

const NATIVE: &str = "use the native backend, which has what containers lack: backend = \
    \"native\" under [sandbox] in prowess.toml";

const ADVICE: &str = "start a Docker daemon that this user may use, load an image with a shell and \
    python3, and name both as docker_socket and docker_image under [sandbox] in prowess.toml";

async fn attempt(
    docker: &DockerSettings,
    state: &Path,
    settings: &Settings,
) -> Result<(Docker, Vec<Check>), Error> {
    let root = rustix::process::getuid().is_root();
    let backend = Docker::connect(docker, state, root).await?;
    let version = backend.client.version().await.asked("its version")?;
    let version = version.version.unwrap_or_default();
    let image = backend.client.inspect_image(&docker.image).await;
    image.asked("the image, which is never pulled")?;
    let sessions = Sessions::new(state, root, settings);
    let kept: Vec<String> = sessions.list().into_iter().map(|one| one.id).collect();
    backend.keep_only(&kept).await;
    let seen = look_inside(&backend, &sessions, state).await?;
    let mut checks = vec![
        ok("docker", format!("{version}, image {}", docker.image)),
        ok("control groups", "docker: memory, pids, cpu".into()),
    ];
    checks.push(user(&seen));
    checks.extend(judge(&seen, &EXPECTED, &["written "]));
    Ok((backend, checks))
}

fn user(seen: &str) -> Check {
    let uid = seen.lines().find_map(|line| line.strip_prefix("uid "));
    match uid {
        Some(uid) if uid != "0" => ok("unprivileged user", format!("uid {uid}")),
        _ => missing(
            "unprivileged user",
            "expected not to be root".into(),
            ADVICE,
        ),
    }
}

async fn look_inside(backend: &Docker, sessions: &Sessions, state: &Path) -> Result<String, Error> {
    let (trial, host_id) = sessions.make_trial()?;
    let folder = state.join(&trial);
    let owner = sessions.owner_id(host_id);
    let limits = Limits::default();
    session::put(
        &folder.join("data"),
        "before",
        b"x",
        owner,
        &limits,
        &|_| Ok(()),
    )?;
    let id = trial.rsplit('.').next().unwrap_or_default().to_owned();
    let job = Job {
        execution: Execution {
            command: Command::Argv(vec!["/bin/sh".into(), "-c".into(), INSIDE.into()]),
            ..Execution::default()
        },
        session: id.clone(),
        limits: Limits::default(),
        running: 1,
        proxy: None,
        host_id,
        data: format!("{trial}/data"),
        usage: Usage {
            bytes: 1,
            entries: 1,
        },
        mounts: Vec::new(),
    };
    let ended = Backend::run(backend, job).await;
    backend.forget(&id, host_id).await;
    // Left over, it is found by no one.
    let _ = session::remove_folder(&folder);
    let ended = ended?;
    if ended.outcome == Outcome::Exit(0) {
        return Ok(ended.stdout.text);
    }
    Err(Error::Refused {
        reason: format!(
            "the probe ended with {:?}: {}",
            ended.outcome, ended.stderr.text
        ),
        advice: ADVICE.into(),
    })
}
