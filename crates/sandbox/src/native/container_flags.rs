//! What the engine of a container must be told so that a sandbox can be built inside it, by
//! the signs that something is missing.
//!
//! Knows the flags of container engines; must not know the checks that failed without them.

use super::cgroup::CGROUP_MOUNT;
use prowess_launcher::LaunchStep;
use std::fs;
use std::path::Path;

const EPERM: i32 = 1;
const EACCES: i32 = 13;

/// Files that engines put into a container.
const MARKS: [&str; 2] = ["/.dockerenv", "/run/.containerenv"];

/// What Kubernetes sets in every container.
const KUBERNETES_VARIABLE: &str = "KUBERNETES_SERVICE_HOST";

const SECCOMP: &str = "start the container with --security-opt seccomp=seccomp.json, the profile \
    that comes with the image (Kubernetes: a seccompProfile of type Localhost); with it, the \
    host must allow user namespaces (user.max_user_namespaces above 0)";

const APPARMOR: &str = "start the container with --security-opt apparmor=unconfined (Kubernetes: \
    an appArmorProfile of type Unconfined)";

const PROC: &str = "start the container with --security-opt systempaths=unconfined, so that /proc \
    is not masked (Kubernetes: procMount: Unmasked and hostUsers: false)";

const GROUPS_HIDDEN: &str = "start the container with --volume /sys/fs/cgroup:/sys/fs/cgroup, so \
    that commands get control groups below the container's own (Kubernetes: let the runtime of \
    the node mount control groups writable)";

const GROUPS_OF_OTHERS: &str = "start the container with --cgroupns host, so that it finds its \
    own control group among those of the host";

const GROUPS_OF_ROOT: &str = "start the container with --user root: the entrypoint of the image \
    gives the control group of the container to the user 10001, and runs everything else as that \
    user; without this image, delegate a control group with memory, pids and cpu to this user and \
    name it as cgroup under [sandbox] in prowess.toml";

/// What this process can see of its container.
#[derive(Debug, Default)]
pub(super) struct ContainerSigns {
    /// `/proc/self/status`.
    pub(super) status: String,
    /// The profile of AppArmor that applies, as the kernel names it.
    pub(super) apparmor: String,
    /// `/proc/self/mountinfo`.
    pub(super) mounts: String,
    /// Whether control groups at their usual place include the one that this process is in.
    pub(super) sees_own_group: bool,
}

impl ContainerSigns {
    /// What there is to be seen, or nothing outside of containers.
    pub(super) fn read() -> Option<Self> {
        let in_container = MARKS.iter().any(|mark| Path::new(mark).exists())
            || std::env::var_os(KUBERNETES_VARIABLE).is_some();
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        in_container.then(|| Self {
            status: text("/proc/self/status"),
            apparmor: text("/proc/self/attr/current"),
            mounts: text("/proc/self/mountinfo"),
            sees_own_group: sees_own_group(&text("/proc/self/cgroup")),
        })
    }

    /// The flag without which a step of building a sandbox fails like this.
    pub(super) fn launch_advice(
        &self,
        step: LaunchStep,
        errno: Option<i32>,
    ) -> Option<&'static str> {
        if step == LaunchStep::Proc && errno == Some(EPERM) && self.masks_proc() {
            return Some(PROC);
        }
        match errno {
            Some(EACCES) if self.is_confined() => Some(APPARMOR),
            Some(EPERM) if self.is_filtered() => Some(SECCOMP),
            _ => None,
        }
    }

    /// The flag without which no control groups can be created.
    pub(super) fn group_advice(&self) -> &'static str {
        if !self.has_writable_groups() {
            GROUPS_HIDDEN
        } else if !self.sees_own_group {
            GROUPS_OF_OTHERS
        } else {
            GROUPS_OF_ROOT
        }
    }

    /// Whether a filter of system calls applies to this process.
    fn is_filtered(&self) -> bool {
        self.status
            .lines()
            .filter_map(|line| line.strip_prefix("Seccomp:"))
            .any(|mode| mode.trim() == "2")
    }

    fn is_confined(&self) -> bool {
        let profile = self.apparmor.trim();
        !profile.is_empty() && profile != "unconfined"
    }

    /// Whether something is mounted over files of `/proc`.
    fn masks_proc(&self) -> bool {
        self.mount_points()
            .any(|(place, _)| place.starts_with("/proc/"))
    }

    /// Whether control groups are mounted, and not read-only.
    fn has_writable_groups(&self) -> bool {
        let below = |place: &str| Path::new(place).starts_with(CGROUP_MOUNT);
        let groups = self.mounts.lines().filter(|line| {
            line.split_once(" - ")
                .is_some_and(|(_, kind)| kind.starts_with("cgroup"))
        });
        groups
            .filter_map(mount_point)
            .any(|(place, options)| below(place) && options.split(',').any(|one| one == "rw"))
    }

    fn mount_points(&self) -> impl Iterator<Item = (&str, &str)> {
        self.mounts.lines().filter_map(mount_point)
    }
}

/// Where a line of `mountinfo` mounts something, and with which options.
fn mount_point(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split(' ').skip(4);
    Some((words.next()?, words.next()?))
}

/// Whether a group that a line of `/proc/self/cgroup` names lists this process. It does not
/// if the container calls its own group `/`, and control groups are those of the host.
fn sees_own_group(own: &str) -> bool {
    let pid = std::process::id().to_string();
    own.lines().any(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
            return false;
        };
        let controller = controllers.split(',').next().unwrap_or_default();
        let folder = Path::new(CGROUP_MOUNT)
            .join(controller)
            .join(group.trim_start_matches('/'));
        fs::read_to_string(folder.join("cgroup.procs"))
            .is_ok_and(|listed| listed.lines().any(|one| one == pid))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASKED: &str = "624 601 0:52 / /proc rw,nosuid - proc proc rw\n\
        632 624 0:53 / /proc/kcore rw,nosuid - tmpfs tmpfs rw\n";
    const READ_ONLY: &str = "611 610 0:27 /docker/1 /sys/fs/cgroup/memory ro,nosuid - cgroup \
        cgroup rw,memory\n";
    const WRITABLE: &str = "611 610 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw\n";

    fn signs(status: &str, apparmor: &str, mounts: &str) -> ContainerSigns {
        ContainerSigns {
            status: status.into(),
            apparmor: apparmor.into(),
            mounts: mounts.into(),
            sees_own_group: false,
        }
    }

    #[test]
    fn the_flag_follows_from_what_failed_and_what_is_in_force() {
        let filtered = signs("Name:\tsh\nSeccomp:\t2\n", "unconfined\n", MASKED);
        let advice = |step, errno| filtered.launch_advice(step, Some(errno));
        assert_eq!(advice(LaunchStep::UserNamespace, EPERM), Some(SECCOMP));
        assert_eq!(advice(LaunchStep::Root, EPERM), Some(SECCOMP));
        assert_eq!(advice(LaunchStep::Proc, EPERM), Some(PROC));
        assert_eq!(advice(LaunchStep::Root, EACCES), None);
        let confined = signs("Seccomp:\t0\n", "docker-default (enforce)\n", "");
        let advice = |step, errno| confined.launch_advice(step, Some(errno));
        assert_eq!(advice(LaunchStep::Root, EACCES), Some(APPARMOR));
        assert_eq!(advice(LaunchStep::Root, EPERM), None);
        assert_eq!(advice(LaunchStep::Proc, EPERM), None);
        assert_eq!(confined.launch_advice(LaunchStep::Root, None), None);
    }

    #[test]
    fn the_flag_for_control_groups_follows_from_how_they_are_mounted() {
        assert_eq!(signs("", "", READ_ONLY).group_advice(), GROUPS_HIDDEN);
        assert_eq!(signs("", "", "").group_advice(), GROUPS_HIDDEN);
        assert_eq!(signs("", "", WRITABLE).group_advice(), GROUPS_OF_OTHERS);
        let own = ContainerSigns {
            sees_own_group: true,
            ..signs("", "", WRITABLE)
        };
        assert_eq!(own.group_advice(), GROUPS_OF_ROOT);
    }
}
