//! The control group of a slot: memory, processes and processor time. Version 2 if its
//! controllers are available, version 1 otherwise.
//!
//! A slot has one group for its lifetime and its broker is in it, so that sandboxes start
//! in it. Moving a process between groups waits for an RCU grace period, which takes as
//! long as starting Python; writing a limit takes microseconds.

use crate::error::{Error, ErrorContext};
use crate::policy::SandboxLimits;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where control groups are mounted.
pub(super) const CGROUP_MOUNT: &str = "/sys/fs/cgroup";

/// Prefix of every group created here; the creator's process id follows.
const GROUP_PREFIX: &str = "prowess-";

/// What start scripts (`packaging/`) call the server's own group, below the one they are given.
const SERVER_GROUP: &str = "/server";

/// The period over which processor time is counted.
const CPU_PERIOD_MICROS: u64 = 100_000;

/// Buffers of network sockets of a group of version 1, which does not count them as memory.
/// Without a limit they are not counted at all, and a command could fill what the kernel has for
/// those of the whole host.
const SOCKET_BYTES_V1: u64 = 32 << 20;

/// The share of processor time of a group when there is not enough for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CpuClass {
    /// As much as a process outside of these groups.
    Normal,
    /// What the others leave: others preempt it at once. It still gets a little, so that
    /// it makes progress.
    Background,
}

impl CpuClass {
    /// The class of a command when `running` commands of its tenant run, itself included.
    /// Only the first one is normal; otherwise a tenant with many commands would slow down
    /// those of all others.
    pub(crate) fn for_command(running: usize) -> Self {
        if running <= 1 {
            Self::Normal
        } else {
            Self::Background
        }
    }
}

/// The folders in which this process may create groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hierarchy {
    /// One folder per controller.
    V1 {
        memory: PathBuf,
        pids: PathBuf,
        cpu: PathBuf,
    },
    /// One folder for all.
    V2(PathBuf),
}

impl Hierarchy {
    /// Finds where groups can be created, by creating one. `parent` names a delegated group
    /// to use instead of this process's own.
    pub(crate) fn find(parent: Option<&str>) -> Result<Self, Error> {
        let own = fs::read_to_string("/proc/self/cgroup")
            .context("cannot read this process's control groups")?;
        Self::find_in(Path::new(CGROUP_MOUNT), &own, parent)
    }

    /// The same for groups mounted at `mount`; `own` is the content of this process's
    /// `/proc/self/cgroup`.
    fn find_in(mount: &Path, own: &str, parent: Option<&str>) -> Result<Self, Error> {
        let candidates = [Self::v2(mount, own, parent), Self::v1(mount, own, parent)];
        let mut last = None;
        for candidate in candidates.into_iter().flatten() {
            candidate.sweep();
            match Group::create(&candidate, "probe")
                .and_then(|group| group.limit(&SandboxLimits::default()))
            {
                Ok(()) => return Ok(candidate),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::Refused {
            reason: "no control groups with memory, pids and cpu are mounted".into(),
            advice: format!("mount them at {}", mount.display()),
        }))
    }

    /// A start script that was given a group moves itself into one below it, because a group
    /// of version 2 that has processes cannot limit groups below it: the given one is used.
    fn v2(mount: &Path, own: &str, parent: Option<&str>) -> Option<Self> {
        let mut given = own.lines().filter_map(|line| line.strip_prefix("0::"));
        let given = given.find_map(|group| group.strip_suffix(SERVER_GROUP));
        let group = parent.or(given).unwrap_or_default();
        let folder = mount.join(group.trim_start_matches('/'));
        let controllers = fs::read_to_string(folder.join("cgroup.subtree_control")).ok()?;
        let has = |name| controllers.split_whitespace().any(|one| one == name);
        (has("memory") && has("pids") && has("cpu")).then_some(Self::V2(folder))
    }

    fn v1(mount: &Path, own: &str, parent: Option<&str>) -> Option<Self> {
        let folder = |controller: &str| {
            let line = own.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':').skip(1);
                let names = parts.next()?;
                names
                    .split(',')
                    .any(|name| name == controller)
                    .then_some(parts.next())?
            })?;
            let path = mount.join(controller);
            let path = path.join(parent.unwrap_or(line).trim_start_matches('/'));
            path.is_dir().then_some(path)
        };
        Some(Self::V1 {
            memory: folder("memory")?,
            pids: folder("pids")?,
            cpu: folder("cpu")?,
        })
    }

    fn folders(&self) -> Vec<&Path> {
        match self {
            Self::V1 { memory, pids, cpu } => vec![memory, pids, cpu],
            Self::V2(folder) => vec![folder],
        }
    }

    /// Removes groups whose creator was killed. A group with a process in it cannot be
    /// removed, so this is safe.
    fn sweep(&self) {
        for folder in self.folders() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let maker = name
                    .to_str()
                    .and_then(|name| name.strip_prefix(GROUP_PREFIX));
                let maker = maker.and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
                if maker.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
                    // Busy, or removed by another sweep: nothing to do.
                    let _ = fs::remove_dir(entry.path());
                }
            }
        }
    }

    /// The version, for display.
    pub(crate) fn version(&self) -> &'static str {
        match self {
            Self::V1 { .. } => "v1",
            Self::V2(_) => "v2",
        }
    }
}

/// How often limits were reached since the group was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) memory_kills: u64,
    pub(crate) refused_processes: u64,
}

impl Counters {
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            memory_kills: self.memory_kills.saturating_sub(before.memory_kills),
            refused_processes: self
                .refused_processes
                .saturating_sub(before.refused_processes),
        }
    }
}

/// One group. Removed when dropped.
#[derive(Debug)]
pub(crate) struct Group {
    place: Hierarchy,
}

impl Group {
    pub(crate) fn create(hierarchy: &Hierarchy, name: &str) -> Result<Self, Error> {
        let name = format!("{GROUP_PREFIX}{}-{name}", std::process::id());
        let place = match hierarchy {
            Hierarchy::V1 { memory, pids, cpu } => Hierarchy::V1 {
                memory: memory.join(&name),
                pids: pids.join(&name),
                cpu: cpu.join(&name),
            },
            Hierarchy::V2(folder) => Hierarchy::V2(folder.join(&name)),
        };
        let group = Self { place };
        for folder in group.place.folders() {
            create_new(folder).at("cannot create a control group", folder)?;
        }
        if let Hierarchy::V1 { memory, .. } = &group.place {
            // Once, and before there are any: sockets of an earlier command may still be closing
            // when the other limits are set.
            let sockets = memory.join("memory.kmem.tcp.limit_in_bytes");
            write_if_exists(&sockets, SOCKET_BYTES_V1, SET_MEMORY)?;
        }
        Ok(group)
    }

    /// Moves a process into the group.
    pub(crate) fn add(&self, pid: u32) -> Result<(), Error> {
        for folder in self.place.folders() {
            write_as(&folder.join("cgroup.procs"), pid, MOVE_PROCESS)?;
        }
        Ok(())
    }

    /// Sets the limits of the next command.
    pub(crate) fn limit(&self, limits: &SandboxLimits) -> Result<(), Error> {
        let quota = limits.cpu_millis * CPU_PERIOD_MICROS / 1000;
        // The broker and the init are in the group as well.
        let processes = limits.processes + 2;
        match &self.place {
            Hierarchy::V1 { memory, pids, cpu } => {
                limit_memory_v1(memory, limits.memory)?;
                write(&pids.join("pids.max"), processes)?;
                write(&cpu.join("cpu.cfs_period_us"), CPU_PERIOD_MICROS)?;
                write(&cpu.join("cpu.cfs_quota_us"), quota)
            }
            Hierarchy::V2(folder) => {
                write_as(&folder.join("memory.max"), limits.memory, SET_MEMORY)?;
                write_if_exists(&folder.join("memory.swap.max"), 0, SET_MEMORY)?;
                write(&folder.join("pids.max"), processes)?;
                write(
                    &folder.join("cpu.max"),
                    format_args!("{quota} {CPU_PERIOD_MICROS}"),
                )
            }
        }
    }

    /// Sets its share of processor time among other groups.
    pub(crate) fn set_class(&self, class: CpuClass) -> Result<(), Error> {
        let (folder, name, normal, least) = match &self.place {
            Hierarchy::V1 { cpu, .. } => (cpu, "cpu.shares", 1024, 2),
            Hierarchy::V2(folder) => (folder, "cpu.weight", 100, 1),
        };
        let (idle, share) = (folder.join("cpu.idle"), folder.join(name));
        match class {
            CpuClass::Normal => {
                write_if_exists(&idle, 0, SET_CLASS)?;
                write_as(&share, normal, SET_CLASS)
            }
            // Kernels before 5.15 have no idle groups; the smallest share is the closest.
            CpuClass::Background if !idle.exists() => write_as(&share, least, SET_CLASS),
            CpuClass::Background => write_as(&idle, 1, SET_CLASS),
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        let (memory, pids) = match &self.place {
            Hierarchy::V1 { memory, pids, .. } => (memory.join("memory.oom_control"), pids),
            Hierarchy::V2(folder) => (folder.join("memory.events"), folder),
        };
        Counters {
            memory_kills: counter(&memory, "oom_kill"),
            refused_processes: counter(&pids.join("pids.events"), "max"),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in self.place.folders() {
            // Killed processes may still be exiting. If that takes longer, the next sweep
            // removes the group.
            for _ in 0..200 {
                match fs::remove_dir(folder) {
                    Err(error) if error.raw_os_error() == Some(EBUSY) => {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    _ => break,
                }
            }
        }
    }
}

const EBUSY: i32 = 16;
const EINVAL: i32 = 22;
const SET_MEMORY: &str = "cannot set the memory limit of a control group";
const SET_CLASS: &str = "cannot set the processor share of a control group";
const MOVE_PROCESS: &str = "cannot move a process into a control group";

/// Creates an empty group without limits. An existing one of this name was left by a killed
/// process with the same id.
fn create_new(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_dir(folder)?;
            fs::create_dir(folder)
        }
        result => result,
    }
}

/// Whether the kernel refused to move a process into a group.
pub(super) fn is_move_refused(error: &Error) -> bool {
    matches!(error, Error::Io { what, source }
        if what == MOVE_PROCESS && source.raw_os_error() == Some(EINVAL))
}

/// Memory, and memory with swap where it is counted; the second may never be less than
/// the first, so raising and lowering go in opposite orders.
fn limit_memory_v1(folder: &Path, bytes: u64) -> Result<(), Error> {
    let (plain, swap) = (
        folder.join("memory.limit_in_bytes"),
        folder.join("memory.memsw.limit_in_bytes"),
    );
    match fs::write(&plain, bytes.to_string()) {
        Err(error) if error.raw_os_error() == Some(EINVAL) => {
            write_if_exists(&swap, bytes, SET_MEMORY)?;
            write_as(&plain, bytes, SET_MEMORY)
        }
        result => {
            result.at(SET_MEMORY, &plain)?;
            write_if_exists(&swap, bytes, SET_MEMORY)
        }
    }
}

fn write(path: &Path, value: impl std::fmt::Display) -> Result<(), Error> {
    write_as(path, value, "cannot set a limit of a control group")
}

fn write_as(path: &Path, value: impl std::fmt::Display, failed: &'static str) -> Result<(), Error> {
    fs::write(path, value.to_string()).at(failed, path)
}

fn write_if_exists(path: &Path, value: u64, failed: &'static str) -> Result<(), Error> {
    match fs::write(path, value.to_string()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // Opening with `create` is denied if the file does not exist.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !path.exists() => Ok(()),
        result => result.at(failed, path),
    }
}

fn counter(path: &Path, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
