//! The part of a root that all sandboxes of a broker share, built once and read-only:
//! the runtime, a minimal `/etc` and `/dev`, and empty folders to mount on.
//!
//! The broker's own root becomes a tmpfs that holds only `base` (what is built here),
//! `state` (the server's folder of containers, skills and layers), the host's `proc`
//! (the kernel requires a visible one before a namespace may mount its own) and `new`.

use crate::layout::LAYOUT;
use crate::mounts::{self, READ_ONLY};
use crate::spec::{LaunchFailure, LaunchStep, RootSpec, StepContext};
use rustix::mount::{MountAttrFlags, MountPropagationFlags};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Device nodes every program may expect, and no others. They are the host's own: an
/// ordinary user cannot make any. Their mounts are read-only, which lets programs read
/// and write the device, and keeps them from its times, mode and owner.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Links under `/dev` that programs expect.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
    ("dev/shm", "/tmp"),
];

/// System folders that an init mounts on; those with a leading dot only temporarily.
const FOLDERS: [&str; 6] = ["dev", "etc", "proc", "tmp", ".state", ".layer"];

/// Builds the shared root and moves this process into it.
pub(crate) fn enter(base: &RootSpec) -> Result<(), LaunchFailure> {
    rustix::mount::mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .at(LaunchStep::Root, "/ as private")?;
    let state = mounts::clone_tree(&base.state).at(LaunchStep::Root, base.state.display())?;
    let stage = base.state.join("stage");
    let tmpfs = mounts::make_tmpfs(1 << 20, 64, "0755").at(LaunchStep::Root, "tmpfs")?;
    mounts::attach(&tmpfs, &stage).at(LaunchStep::Root, stage.display())?;
    rustix::process::chdir(&stage).at(LaunchStep::Root, stage.display())?;
    for folder in ["base", "state", "proc", "new"] {
        fs::create_dir(folder).at(LaunchStep::Root, folder)?;
    }
    mounts::attach(&state, "state").at(LaunchStep::Root, "state")?;
    mounts::bind("/proc", "proc", MountAttrFlags::empty()).at(LaunchStep::Root, "/proc")?;
    build(base, Path::new("base"))?;
    mounts::pivot_here().at(LaunchStep::Root, "pivot")
}

fn build(base: &RootSpec, at: &Path) -> Result<(), LaunchFailure> {
    let tmpfs = mounts::make_tmpfs(4 << 20, 512, "0755").at(LaunchStep::Root, "tmpfs")?;
    mounts::attach(&tmpfs, at).at(LaunchStep::Root, at.display())?;
    for folder in FOLDERS {
        fs::create_dir(at.join(folder)).at(LaunchStep::Root, folder)?;
    }
    let packages = Path::new(LAYOUT.packages).parent();
    let mount_points = [LAYOUT.data, LAYOUT.files, LAYOUT.skills].map(Path::new);
    for folder in mount_points.into_iter().chain(packages) {
        fs::create_dir_all(inside(at, folder)).at(LaunchStep::Root, folder.display())?;
    }
    for (path, text) in &base.files {
        write(&inside(at, path), text).at(LaunchStep::Root, path.display())?;
    }
    let device_links = DEVICE_LINKS.map(|(path, target)| (path.into(), target.into()));
    for (path, target) in base.links.iter().chain(&device_links) {
        link(target, &inside(at, path)).at(LaunchStep::Root, path.display())?;
    }
    for (source, path) in &base.runtime {
        show(source, &inside(at, path), READ_ONLY).at(LaunchStep::Root, source.display())?;
    }
    for device in DEVICES {
        let source = Path::new("/dev").join(device);
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NOEXEC
            | MountAttrFlags::MOUNT_ATTR_RDONLY;
        show(&source, &at.join("dev").join(device), attributes)
            .at(LaunchStep::Root, source.display())?;
    }
    // The devices and the runtime have their own attributes; this makes the rest read-only.
    crate::sys::set_mount_attributes(
        rustix::fd::AsFd::as_fd(&tmpfs),
        u64::from(READ_ONLY.bits()),
        false,
    )
    .at(LaunchStep::Root, "read-only")
}

/// Binds a file or folder of the host, creating the target.
fn show(source: &Path, target: &Path, attributes: MountAttrFlags) -> io::Result<()> {
    if source.is_dir() {
        fs::create_dir_all(target)?;
    } else {
        write(target, "")?;
    }
    mounts::bind(source, target, attributes)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)
}

fn link(target: &Path, path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    symlink(target, path)
}

fn inside(at: &Path, path: &Path) -> std::path::PathBuf {
    at.join(path.strip_prefix("/").unwrap_or(path))
}
