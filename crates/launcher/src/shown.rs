//! What a command is shown of the state folder, and where it writes: mounted by its init
//! right before it starts.
//!
//! The init has a descriptor of the whole state folder, the command never does. That
//! folder is attached for as long as it takes to mount parts of it; every part is opened
//! beneath it without following a link, and what was opened is what is mounted.

use crate::mounts::{self, READ_ONLY, SAFE};
use crate::spec::{At, DATA_DIR, Data, FILES_DIR, Failure, Go, Step};
use crate::sys;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// Where the state folder is attached meanwhile.
const STATE: &str = "/.state";

/// An empty folder in it to mount on, which goes with it.
const STAGE: &str = "/.state/stage";

/// An empty folder of the root.
const EMPTY: &str = "/.layer";

/// What rounding up to whole pages may add to a file.
const PAGE: u64 = 4096;

/// Mounts what this command needs, and returns a descriptor of the folder that takes what
/// it will write.
pub(crate) fn mount(go: &Go, state: &OwnedFd) -> Result<OwnedFd, Failure> {
    mount_files(&go.files)?;
    if go.data.lower.is_none() && go.mounts.is_empty() {
        return mount_data(&go.data, state);
    }
    // The kernel clones only what is attached in this very namespace.
    mounts::attach(state, STATE).at(Step::Mounts, STATE)?;
    let written = mount_data(&go.data, state)?;
    if !go.mounts.is_empty() {
        mount_parts(&go.mounts, state)?;
    }
    mounts::detach(STATE).at(Step::Mounts, STATE)?;
    Ok(written)
}

/// Mounts the writable folder and returns a descriptor of what will be written there.
fn mount_data(data: &Data, state: &OwnedFd) -> Result<OwnedFd, Failure> {
    let tmpfs = mounts::tmpfs(data.bytes, data.inodes, "0755").at(Step::Data, "tmpfs")?;
    let Some(lower) = &data.lower else {
        mounts::attach(&tmpfs, DATA_DIR).at(Step::Data, DATA_DIR)?;
        return open_folder(DATA_DIR);
    };
    mounts::attach(&tmpfs, "/.layer").at(Step::Data, "/.layer")?;
    for folder in ["/.layer/upper", "/.layer/work"] {
        fs::create_dir(folder).at(Step::Data, folder)?;
    }
    let written = open_folder("/.layer/upper")?;
    let lower = mounts::open_beneath(state, lower).at(Step::Data, "the session's files")?;
    let name = by_number(&lower);
    let options = [
        ("lowerdir", name.as_str()),
        ("upperdir", "/.layer/upper"),
        ("workdir", "/.layer/work"),
        ("userxattr", ""),
    ];
    mounts::make("overlay", &options, SAFE)
        .and_then(|overlay| mounts::attach(&overlay, DATA_DIR))
        .at(Step::Data, "the session's files")?;
    mounts::detach("/.layer").at(Step::Data, "/.layer")?;
    Ok(written)
}

fn open_folder(path: &str) -> Result<OwnedFd, Failure> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty()).at(Step::Data, path)
}

/// Shows parts of the state folder, read-only, under new names.
fn mount_parts(parts: &[(String, String)], state: &OwnedFd) -> Result<(), Failure> {
    let parents: BTreeSet<&Path> = parts
        .iter()
        .filter_map(|(_, inside)| Path::new(inside).parent())
        .collect();
    let mut folders = Vec::new();
    for parent in parents {
        let folder = mounts::tmpfs(64 << 10, 256, "0755").at(Step::Mounts, parent.display())?;
        mounts::attach(&folder, parent).at(Step::Mounts, parent.display())?;
        folders.push(folder);
    }
    let together = overlay_of(parts, state).at(Step::Mounts, "skills and layers")?;
    for (source, inside) in parts {
        fs::create_dir(inside).at(Step::Mounts, inside)?;
        let (_, name) = split(source);
        mounts::open_beneath(&together, name)
            .and_then(mounts::clone_open)
            .and_then(|tree| {
                mounts::set(&tree, READ_ONLY)?;
                mounts::attach(&tree, inside)
            })
            .at(Step::Mounts, inside)?;
    }
    for folder in folders {
        sys::set_mount_attributes(folder.as_fd(), u64::from(READ_ONLY.bits()), false)
            .at(Step::Mounts, "read-only")?;
    }
    Ok(())
}

/// The folders that hold these parts, as a file system of its own. The list of mounts,
/// which a command can read, tells where in its file system a mounted folder lies: of the
/// host's that would be the path of the server's data, and of this one it is the part's
/// own name.
fn overlay_of(parts: &[(String, String)], state: &OwnedFd) -> io::Result<OwnedFd> {
    let folders: BTreeSet<&str> = parts.iter().map(|(source, _)| split(source).0).collect();
    let opened: Vec<OwnedFd> = folders
        .into_iter()
        .map(|folder| mounts::open_beneath(state, folder))
        .collect::<io::Result<_>>()?;
    let mut lower: Vec<String> = opened.iter().map(by_number).collect();
    if lower.len() < 2 {
        // The kernel wants two at least.
        lower.push(EMPTY.to_owned());
    }
    let lower = lower.join(":");
    let options = [("lowerdir", lower.as_str()), ("userxattr", "")];
    let overlay = mounts::make("overlay", &options, SAFE)?;
    mounts::attach(&overlay, STAGE)?;
    Ok(overlay)
}

/// The folder of a part, and its name there.
fn split(source: &str) -> (&str, &str) {
    source.rsplit_once('/').unwrap_or((".", source))
}

/// The name of an open folder for an overlay: a path would be resolved again, and would be
/// told by the list of mounts.
fn by_number(folder: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", folder.as_raw_fd())
}

/// Shows files that exist only for this command, read-only.
fn mount_files(files: &[(String, String)]) -> Result<(), Failure> {
    if files.is_empty() {
        return Ok(());
    }
    let bytes = files.iter().map(|(_, text)| text.len() as u64 + PAGE).sum();
    let folder =
        mounts::tmpfs(bytes, files.len() as u64 + 1, "0755").at(Step::Mounts, FILES_DIR)?;
    mounts::attach(&folder, FILES_DIR).at(Step::Mounts, FILES_DIR)?;
    for (inside, text) in files {
        fs::write(inside, text).at(Step::Mounts, inside)?;
    }
    sys::set_mount_attributes(folder.as_fd(), u64::from(READ_ONLY.bits()), false)
        .at(Step::Mounts, FILES_DIR)
}
