//! The mounts of one command: parts of the state folder, read-only, and the writable data
//! folder. Its init mounts them right before it starts.
//!
//! The init has a descriptor of the whole state folder, the command never does. That
//! folder is attached for as long as it takes to mount parts of it; every part is opened
//! beneath it without following a link, and what was opened is what is mounted.

use crate::layout::LAYOUT;
use crate::mounts::{self, READ_ONLY, SAFE};
use crate::spec::{CommandSpec, DataSpec, LaunchFailure, LaunchStep, StepContext};
use crate::sys;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// Where the state folder is attached while parts of it are mounted.
const STATE: &str = "/.state";

/// An empty folder in it to mount on, detached together with it.
const STAGE: &str = "/.state/stage";

/// An empty folder of the root.
const EMPTY_FOLDER: &str = "/.layer";

/// What rounding up to whole pages may add to a file. Some kernels for aarch64 have pages of
/// this size.
const PAGE_BYTES: u64 = 64 << 10;

/// Mounts what this command needs, and returns a descriptor of the folder that takes what
/// it will write.
pub(crate) fn mount(command: &CommandSpec, state: &OwnedFd) -> Result<OwnedFd, LaunchFailure> {
    mount_files(&command.files)?;
    if command.data.lower.is_none() && command.mounts.is_empty() {
        return mount_data(&command.data, state);
    }
    // The kernel clones only what is attached in this very namespace.
    mounts::attach(state, STATE).at(LaunchStep::Mounts, STATE)?;
    let written = mount_data(&command.data, state)?;
    if !command.mounts.is_empty() {
        mount_parts(&command.mounts, state)?;
    }
    mounts::detach(STATE).at(LaunchStep::Mounts, STATE)?;
    Ok(written)
}

/// Mounts the writable folder and returns a descriptor of what will be written there.
fn mount_data(data: &DataSpec, state: &OwnedFd) -> Result<OwnedFd, LaunchFailure> {
    let tmpfs =
        mounts::make_tmpfs(data.bytes, data.inodes, "0755").at(LaunchStep::Data, "tmpfs")?;
    let Some(lower) = &data.lower else {
        mounts::attach(&tmpfs, LAYOUT.data).at(LaunchStep::Data, LAYOUT.data)?;
        return open_folder(LAYOUT.data);
    };
    mounts::attach(&tmpfs, "/.layer").at(LaunchStep::Data, "/.layer")?;
    for folder in ["/.layer/upper", "/.layer/work"] {
        fs::create_dir(folder).at(LaunchStep::Data, folder)?;
    }
    let written = open_folder("/.layer/upper")?;
    let lower = mounts::open_beneath(state, lower).at(LaunchStep::Data, "the container's files")?;
    let name = fd_path(&lower);
    let options = [
        ("lowerdir", name.as_str()),
        ("upperdir", "/.layer/upper"),
        ("workdir", "/.layer/work"),
        ("userxattr", ""),
    ];
    mounts::make_filesystem("overlay", &options, SAFE)
        .and_then(|overlay| mounts::attach(&overlay, LAYOUT.data))
        .at(LaunchStep::Data, "the container's files")?;
    mounts::detach("/.layer").at(LaunchStep::Data, "/.layer")?;
    Ok(written)
}

fn open_folder(path: &str) -> Result<OwnedFd, LaunchFailure> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty()).at(LaunchStep::Data, path)
}

/// Shows parts of the state folder, read-only, under new names.
fn mount_parts(parts: &[(String, String)], state: &OwnedFd) -> Result<(), LaunchFailure> {
    let parents: BTreeSet<&Path> = parts
        .iter()
        .filter_map(|(_, inside)| Path::new(inside).parent())
        .collect();
    let mut folders = Vec::new();
    for parent in parents {
        let folder =
            mounts::make_tmpfs(64 << 10, 256, "0755").at(LaunchStep::Mounts, parent.display())?;
        mounts::attach(&folder, parent).at(LaunchStep::Mounts, parent.display())?;
        folders.push(folder);
    }
    let together = overlay_parts(parts, state).at(LaunchStep::Mounts, "skills and layers")?;
    for (source, inside) in parts {
        fs::create_dir(inside).at(LaunchStep::Mounts, inside)?;
        let (_, name) = split(source);
        mounts::open_beneath(&together, name)
            .and_then(mounts::clone_open_tree)
            .and_then(|tree| {
                mounts::set_attributes(&tree, READ_ONLY)?;
                mounts::attach(&tree, inside)
            })
            .at(LaunchStep::Mounts, inside)?;
    }
    for folder in folders {
        sys::set_mount_attributes(folder.as_fd(), u64::from(READ_ONLY.bits()), false)
            .at(LaunchStep::Mounts, "read-only")?;
    }
    Ok(())
}

/// Combines the folders that hold these parts into a separate file system. A command can
/// read the list of mounts, which shows each mounted folder's path in its file system. In
/// the host's that would reveal the path of the server's data; here it is only the part's
/// name.
fn overlay_parts(parts: &[(String, String)], state: &OwnedFd) -> io::Result<OwnedFd> {
    let folders: BTreeSet<&str> = parts.iter().map(|(source, _)| split(source).0).collect();
    let opened: Vec<OwnedFd> = folders
        .into_iter()
        .map(|folder| mounts::open_beneath(state, folder))
        .collect::<io::Result<_>>()?;
    let mut lower: Vec<String> = opened.iter().map(fd_path).collect();
    if lower.len() < 2 {
        // The kernel requires at least two.
        lower.push(EMPTY_FOLDER.to_owned());
    }
    let lower = lower.join(":");
    let options = [("lowerdir", lower.as_str()), ("userxattr", "")];
    let overlay = mounts::make_filesystem("overlay", &options, SAFE)?;
    mounts::attach(&overlay, STAGE)?;
    Ok(overlay)
}

/// The folder of a part, and its name there.
fn split(source: &str) -> (&str, &str) {
    source.rsplit_once('/').unwrap_or((".", source))
}

/// The name of an open folder for an overlay: a path would be resolved again, and would
/// appear in the list of mounts.
fn fd_path(folder: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", folder.as_raw_fd())
}

/// Shows files that exist only for this command, read-only.
fn mount_files(files: &[(String, String)]) -> Result<(), LaunchFailure> {
    if files.is_empty() {
        return Ok(());
    }
    let bytes = files
        .iter()
        .map(|(_, text)| text.len() as u64 + PAGE_BYTES)
        .sum();
    let folder = mounts::make_tmpfs(bytes, files.len() as u64 + 1, "0755")
        .at(LaunchStep::Mounts, LAYOUT.files)?;
    mounts::attach(&folder, LAYOUT.files).at(LaunchStep::Mounts, LAYOUT.files)?;
    for (inside, text) in files {
        fs::write(inside, text).at(LaunchStep::Mounts, inside)?;
    }
    sys::set_mount_attributes(folder.as_fd(), u64::from(READ_ONLY.bits()), false)
        .at(LaunchStep::Mounts, LAYOUT.files)
}
