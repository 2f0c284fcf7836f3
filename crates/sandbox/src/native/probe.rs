//! Probes the host: a sandbox is built, and a small script inside reports which
//! restrictions are in force.

use super::NativeBackend;
use super::base::root_spec;
use super::cgroup::Hierarchy;
use super::container_flags::ContainerSigns;
use crate::backend::{CommandJob, SandboxBackend};
use crate::collect::DiskUsage;
use crate::container::{self, ContainerStore};
use crate::error::Error;
use crate::execution::{Command, CommandOutcome, Execution};
use crate::policy::SandboxLimits;
use crate::probe::{
    Grade, PROBE_SCRIPT, Probe, evaluate_checks, grade, missing_check, passed_check,
};
use crate::runtimes::RuntimeSource;
use crate::settings::SandboxSettings;
use prowess_launcher::LaunchStep;
use prowess_launcher::spec::RootSpec;
use std::path::Path;
use std::sync::Arc;

/// The lines expected when every restriction is in force.
const EXPECTED: [(&str, &str); 8] = [
    ("unprivileged user", "uid 1000"),
    ("no capabilities", "CapEff: 0000000000000000"),
    ("no capabilities to gain", "CapBnd: 0000000000000000"),
    ("no new privileges", "NoNewPrivs: 1"),
    ("system call filter", "Seccomp: 2"),
    ("no network but loopback", "interfaces 1"),
    ("writable data folder", "data ok"),
    ("quota over container files", "lower ok"),
];

/// What the probing command needs.
struct ProbeHost<'a> {
    settings: &'a SandboxSettings,
    base: RootSpec,
    host_id: u32,
    /// A container folder with a file `before` in it, relative to the state folder.
    data: String,
}

/// Probes, and returns the result and the backend, unless the host is refused.
pub(crate) async fn probe(
    state: &Path,
    settings: &SandboxSettings,
) -> Result<(Probe, Option<Arc<dyn SandboxBackend>>), Error> {
    let root = rustix::process::getuid().is_root();
    let RuntimeSource::Folder(runtime) = &settings.runtime else {
        // A name is replaced by its folder before this.
        return Err(Error::LauncherGone);
    };
    let base = root_spec(state, runtime, root)?;
    let containers = ContainerStore::new(state, root, settings);
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
    let (probe, native) = probe_host(ProbeHost {
        settings,
        base,
        host_id,
        data: format!("{trial}/data"),
    })
    .await;
    container::remove_folder(&folder)?;
    Ok((probe, native.map(|native| Arc::new(native) as _)))
}

async fn probe_host(host: ProbeHost<'_>) -> (Probe, Option<NativeBackend>) {
    let mut checks = Vec::new();
    let container = ContainerSigns::read();
    let hierarchy = match Hierarchy::find(host.settings.cgroup.as_deref()) {
        Ok(hierarchy) => {
            checks.push(passed_check(
                "control groups",
                format!("{}: memory, pids, cpu", hierarchy.version()),
            ));
            Some(hierarchy)
        }
        Err(error) => {
            let advice = container.as_ref().map(ContainerSigns::group_advice);
            checks.push(missing_check(
                "control groups",
                error.detail(),
                advice.unwrap_or(CGROUP_ADVICE),
            ));
            None
        }
    };
    let native = |landlock, warm| {
        let (launcher, base) = (host.settings.launcher.clone(), host.base.clone());
        NativeBackend::new(launcher, base, hierarchy.clone(), landlock, warm)
    };
    let mut landlock = true;
    let mut result = attempt(&native(true, 0), &host).await;
    if is_landlock(&result) {
        landlock = false;
        checks.push(missing_check(
            "landlock",
            "not in this kernel".into(),
            LANDLOCK_ADVICE,
        ));
        result = attempt(&native(false, 0), &host).await;
    } else if result.is_ok() {
        checks.push(passed_check("landlock", "in force".into()));
    }
    match result {
        Ok(seen) => {
            checks.extend(evaluate_checks(&seen, &EXPECTED, &["seen ", "written "]));
            let grade = grade(&checks);
            let usable = !matches!(grade, Grade::Refused { .. });
            // Warm interpreters are Python; without it no sandbox is provisioned.
            let python = seen.lines().any(|line| line == "has python3");
            let warm = if python { host.settings.warm } else { 0 };
            (
                Probe { grade, checks },
                usable.then(|| native(landlock, warm)),
            )
        }
        Err(error) => {
            let (reason, advice) = match error {
                Error::Refused { reason, advice } => (reason, advice),
                error => (
                    error.detail(),
                    advice(&error, container.as_ref()).to_owned(),
                ),
            };
            checks.push(missing_check("sandbox", reason.clone(), &advice));
            let grade = Grade::Refused { reason };
            (Probe { grade, checks }, None)
        }
    }
}

async fn attempt(native: &NativeBackend, host: &ProbeHost<'_>) -> Result<String, Error> {
    let execution = Execution {
        command: Command::Argv(vec!["/bin/sh".into(), "-c".into(), PROBE_SCRIPT.into()]),
        ..Execution::default()
    };
    let job = CommandJob {
        execution,
        container_id: String::new(),
        limits: SandboxLimits::default(),
        running: 1,
        proxy: None,
        host_id: host.host_id,
        data: host.data.clone(),
        usage: DiskUsage {
            bytes: 1,
            entries: 1,
        },
        mounts: Vec::new(),
    };
    let root = !host.base.own_user_namespace;
    let ended = SandboxBackend::run(native, job).await?;
    let report = ended.into_report(&host.base.state, root, Grade::Strict, &|requested| {
        requested
    })?;
    if report.outcome != CommandOutcome::Exit(0) {
        let (outcome, stderr) = (report.outcome, report.stderr.text);
        return Err(Error::Refused {
            reason: format!("the probe failed ({outcome}): {stderr}"),
            advice: RUNTIME_ADVICE.into(),
        });
    }
    Ok(report.stdout.text)
}

fn is_landlock(result: &Result<String, Error>) -> bool {
    matches!(result, Err(Error::Launch(failure)) if failure.step == LaunchStep::Landlock)
}

const CGROUP_ADVICE: &str = "delegate a control group with memory, pids and cpu to this user \
    (systemd: Delegate=yes) and name it as cgroup under [sandbox] in prowess.toml, or run as root";

const LANDLOCK_ADVICE: &str = "boot a kernel of 5.13 or newer with lsm=landlock,...";

const RUNTIME_ADVICE: &str = "check that the runtime (runtime under [sandbox] in prowess.toml) has \
    a working /bin/sh";

const OTHER_ADVICE: &str = "correct what the message names, or use the docker backend: backend = \
    \"docker\" under [sandbox] in prowess.toml";

fn advice(error: &Error, container: Option<&ContainerSigns>) -> &'static str {
    let Error::Launch(failure) = error else {
        return OTHER_ADVICE;
    };
    let flag = container.and_then(|signs| signs.launch_advice(failure.step, failure.errno));
    if let Some(flag) = flag {
        return flag;
    }
    match failure.step {
        LaunchStep::UserNamespace | LaunchStep::Namespaces => {
            "allow user namespaces: kernel.unprivileged_userns_clone=1, \
             kernel.apparmor_restrict_unprivileged_userns=0 (or an AppArmor profile with \
             userns), user.max_user_namespaces above 0; in a container its seccomp profile \
             must allow them too; or use the docker backend"
        }
        LaunchStep::Proc => "in a container, do not mask /proc (systempaths=unconfined)",
        LaunchStep::Data => "use a kernel of 5.11 or newer, with overlayfs in user namespaces",
        LaunchStep::Root | LaunchStep::Mounts | LaunchStep::Tmp | LaunchStep::Pivot => {
            "use a kernel of 5.12 or newer"
        }
        _ => OTHER_ADVICE,
    }
}
