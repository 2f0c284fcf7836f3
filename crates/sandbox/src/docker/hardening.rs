//! The configuration of a Docker container, with as few privileges as possible.

use super::DockerBackend;
use crate::backend::CommandJob;
use crate::policy::SandboxLimits;
use bollard::models::{ContainerCreateBody, HostConfig, HostConfigLogConfig, ResourcesUlimits};
use prowess_launcher::{LAYOUT, MAX_PENDING_SIGNALS};
use std::collections::HashMap;

/// The label with the state folder that a Docker container belongs to.
pub(super) const STATE_LABEL: &str = "prowess.state";

/// Waits for the end of its input, which ends when this process does.
const WAIT_COMMAND: [&str; 3] = ["/bin/sh", "-c", "read end"];

/// The request to create the Docker container of a job.
pub(super) fn container_body(docker: &DockerBackend, job: &CommandJob) -> ContainerCreateBody {
    ContainerCreateBody {
        image: Some(docker.image.clone()),
        user: Some(container_user(docker, job)),
        hostname: Some("sandbox".into()),
        entrypoint: Some(WAIT_COMMAND.map(String::from).into()),
        cmd: Some(Vec::new()),
        env: Some(Vec::new()),
        open_stdin: Some(true),
        stdin_once: Some(true),
        attach_stdin: Some(true),
        network_disabled: Some(true),
        labels: Some(HashMap::from([(
            STATE_LABEL.into(),
            docker.state.display().to_string(),
        )])),
        host_config: Some(host_config(docker, job)),
        ..ContainerCreateBody::default()
    }
}

/// The container's host id, or the server's own without root: never root.
pub(super) fn container_user(docker: &DockerBackend, job: &CommandJob) -> String {
    if docker.root {
        return format!("{0}:{0}", job.host_id);
    }
    let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
    format!("{uid}:{gid}")
}

fn host_config(docker: &DockerBackend, job: &CommandJob) -> HostConfig {
    let limits = &job.limits;
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let tmp = format!("rw,nosuid,nodev,mode=1777,size={}", limits.tmp_bytes);
    HostConfig {
        network_mode: Some("none".into()),
        ipc_mode: Some("none".into()),
        readonly_rootfs: Some(true),
        privileged: Some(false),
        cap_drop: Some(vec!["ALL".into()]),
        security_opt: Some(vec!["no-new-privileges".into(), seccomp_option()]),
        binds: Some(binds(docker, job)),
        tmpfs: Some(HashMap::from([(LAYOUT.tmp.into(), tmp)])),
        memory: Some(number(limits.memory)),
        memory_swap: Some(number(limits.memory)),
        // The waiting process is in the container as well.
        pids_limit: Some(number(limits.processes + 1)),
        nano_cpus: Some(number(limits.cpu_millis.saturating_mul(1_000_000))),
        ulimits: Some(ulimits(limits)),
        log_config: Some(HostConfigLogConfig {
            typ: Some("none".into()),
            config: None,
        }),
        ..HostConfig::default()
    }
}

/// The same allow-list of system calls as the native backend's.
fn seccomp_option() -> String {
    format!("seccomp={}", prowess_launcher::docker_profile())
}

fn binds(docker: &DockerBackend, job: &CommandJob) -> Vec<String> {
    let place = |relative: &str| docker.state.join(relative).display().to_string();
    let data = docker.state.join(&job.data).with_file_name("work");
    let data = format!("{}:{}:rw", data.display(), LAYOUT.data);
    let shown = job
        .mounts
        .iter()
        .map(|(from, inside)| format!("{}:{inside}:ro", place(from)));
    std::iter::once(data).chain(shown).collect()
}

/// Pending signals and timers are counted for the user. Without root that is the server's own, so
/// its containers have as many together as one sandbox.
fn ulimits(limits: &SandboxLimits) -> Vec<ResourcesUlimits> {
    let both = |name: &str, value: u64| {
        let value = i64::try_from(value).ok();
        ResourcesUlimits {
            name: Some(name.into()),
            soft: value,
            hard: value,
        }
    };
    vec![
        both("core", 0),
        both("fsize", limits.data_bytes),
        both("nofile", limits.open_files),
        both("sigpending", MAX_PENDING_SIGNALS),
    ]
}
