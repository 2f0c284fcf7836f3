//! Probes the host: a sandbox is built, and a small script inside reports which
//! restrictions are in force.

use crate::backend::{CommandJob, SandboxBackend};
use crate::collect::DiskUsage;
use crate::error::Error;
use crate::execution::{Command, CommandOutcome, Execution};
use crate::native::NativeBackend;
use crate::native::cgroup::Hierarchy;
use crate::policy::SandboxLimits;
use prowess_launcher::LaunchStep;
use prowess_launcher::spec::RootSpec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The isolation of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "level")]
pub enum Grade {
    /// Every layer is in force.
    Strict,
    /// Some are not, and the operator has accepted that.
    Reduced {
        /// Which.
        missing: Vec<String>,
    },
    /// Too few layers to run anything.
    Refused {
        /// Why.
        reason: String,
    },
}

/// One check of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeCheck {
    /// What.
    pub name: String,
    /// Whether it is in force.
    pub ok: bool,
    /// The finding.
    pub detail: String,
    /// What to install or set, if that helps.
    pub advice: Option<String>,
}

/// The result of probing a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The verdict.
    #[serde(flatten)]
    pub grade: Grade,
    /// The checks it is based on.
    pub checks: Vec<ProbeCheck>,
}

/// Prints `name value` for each restriction, using only the shell. Runs in the data folder.
pub(crate) const PROBE_SCRIPT: &str = r#"
while read -r key value rest; do
  case $key in
    Uid:) echo "uid $value";;
    CapEff:|CapBnd:|CapPrm:) echo "$key $value";;
    NoNewPrivs:|Seccomp:) echo "$key $value";;
  esac
done < /proc/self/status
for knob in /proc/sys /proc/kcore /proc/keys /sys /.state/sessions; do [ -e "$knob" ] && echo "seen $knob"; done
( : > /usr/probe ) 2>/dev/null && echo "written /usr"
( : > /etc/probe ) 2>/dev/null && echo "written /etc"
( : > /probe ) 2>/dev/null && echo "written /"
( : > probe ) 2>/dev/null && echo "data ok"
[ -e before ] && echo "lower ok"
interfaces=0
while read -r line; do case $line in *:*) interfaces=$((interfaces+1));; esac; done < /proc/self/net/dev
echo "interfaces $interfaces"
for program in python3 node bash; do command -v $program >/dev/null && echo "has $program"; done
exit 0
"#;

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

/// What a probe needs.
pub(crate) struct ProbeHost {
    pub(crate) launcher: PathBuf,
    pub(crate) base: RootSpec,
    pub(crate) cgroup: Option<String>,
    pub(crate) host_id: u32,
    pub(crate) warm: usize,
    /// A container folder with a file `before` in it, relative to the state folder.
    pub(crate) data: String,
}

/// Probes, and returns the result and the backend, unless the host is refused.
pub(crate) async fn probe(host: ProbeHost) -> (Probe, Option<NativeBackend>) {
    let mut checks = Vec::new();
    let hierarchy = match Hierarchy::find(host.cgroup.as_deref()) {
        Ok(hierarchy) => {
            checks.push(passed_check(
                "control groups",
                format!("{}: memory, pids, cpu", hierarchy.version()),
            ));
            Some(hierarchy)
        }
        Err(error) => {
            checks.push(missing_check(
                "control groups",
                error.detail(),
                CGROUP_ADVICE,
            ));
            None
        }
    };
    let native = |landlock, warm| {
        let (launcher, base) = (host.launcher.clone(), host.base.clone());
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
            let warm = if python { host.warm } else { 0 };
            (
                Probe { grade, checks },
                usable.then(|| native(landlock, warm)),
            )
        }
        Err(error) => {
            checks.push(missing_check("sandbox", error.detail(), advice(&error)));
            (
                Probe {
                    grade: Grade::Refused {
                        reason: error.detail(),
                    },
                    checks,
                },
                None,
            )
        }
    }
}

async fn attempt(native: &NativeBackend, host: &ProbeHost) -> Result<String, Error> {
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
        let reason = format!(
            "the probe ended with {:?}: {}",
            report.outcome, report.stderr.text
        );
        return Err(Error::Refused {
            reason,
            advice: "see above".into(),
        });
    }
    Ok(report.stdout.text)
}

fn is_landlock(result: &Result<String, Error>) -> bool {
    matches!(result, Err(Error::Launch(failure)) if failure.step == LaunchStep::Landlock)
}

/// Compares the output of a probe with the expected lines; no line may begin with one of
/// `leaks`.
pub(crate) fn evaluate_checks(
    seen: &str,
    expected: &[(&str, &str)],
    leaks: &[&str],
) -> Vec<ProbeCheck> {
    let mut checks: Vec<ProbeCheck> = expected
        .iter()
        .map(|(name, line)| {
            if seen.lines().any(|seen| seen == *line) {
                passed_check(name, (*line).into())
            } else {
                missing_check(name, format!("expected {line:?}"), "report this as a bug")
            }
        })
        .collect();
    let leaks: Vec<&str> = seen
        .lines()
        .filter(|line| leaks.iter().any(|leak| line.starts_with(leak)))
        .collect();
    checks.push(if leaks.is_empty() {
        passed_check("host hidden", "no kernel knobs, nothing writable".into())
    } else {
        missing_check("host hidden", leaks.join(", "), "report this as a bug")
    });
    let has: Vec<&str> = seen
        .lines()
        .filter_map(|line| line.strip_prefix("has "))
        .collect();
    checks.push(passed_check("interpreters", has.join(", ")));
    checks
}

/// Layers that the operator may accept as missing; without any other, the host is refused.
const OPTIONAL: [&str; 4] = [
    "control groups",
    "landlock",
    "hidden kernel tables",
    "hard quota over container files",
];

pub(crate) fn grade(checks: &[ProbeCheck]) -> Grade {
    let failed: Vec<&ProbeCheck> = checks.iter().filter(|check| !check.ok).collect();
    if let Some(check) = failed
        .iter()
        .find(|check| !OPTIONAL.contains(&check.name.as_str()))
    {
        return Grade::Refused {
            reason: format!("{}: {}", check.name, check.detail),
        };
    }
    if failed.is_empty() {
        return Grade::Strict;
    }
    Grade::Reduced {
        missing: failed.iter().map(|check| check.name.clone()).collect(),
    }
}

pub(crate) fn passed_check(name: &str, detail: String) -> ProbeCheck {
    ProbeCheck {
        name: name.into(),
        ok: true,
        detail,
        advice: None,
    }
}

pub(crate) fn missing_check(name: &str, detail: String, advice: &str) -> ProbeCheck {
    ProbeCheck {
        name: name.into(),
        ok: false,
        detail,
        advice: Some(advice.into()),
    }
}

const CGROUP_ADVICE: &str = "delegate a control group with memory, pids and cpu to this user \
    (systemd: Delegate=yes) and name it as cgroup under [sandbox] in prowess.toml, or run as root";

const LANDLOCK_ADVICE: &str = "boot a kernel of 5.13 or newer with lsm=landlock,...";

fn advice(error: &Error) -> &'static str {
    let Error::Launch(failure) = error else {
        return "see the message";
    };
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
        _ => "see the message",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_optional_layer_reduces_and_any_other_refuses() {
        let good = passed_check("seccomp", String::new());
        let cgroups = missing_check("control groups", String::new(), "");
        let caps = missing_check("no capabilities", "x".into(), "");
        assert_eq!(grade(std::slice::from_ref(&good)), Grade::Strict);
        let reduced = Grade::Reduced {
            missing: vec!["control groups".into()],
        };
        assert_eq!(grade(&[good.clone(), cgroups.clone()]), reduced);
        assert!(matches!(
            grade(&[good, cgroups, caps]),
            Grade::Refused { .. }
        ));
    }
}
