//! Mounting with the descriptor-based calls: a file system is created or a tree cloned
//! while detached, gets its attributes, and only then is attached.

use crate::sys;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
};
use std::io;
use std::path::Path;

/// Attributes of everything mounted for a command: no set-id programs, no devices.
pub(crate) const SAFE: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);

/// [`SAFE`], and not writable.
pub(crate) const READ_ONLY: MountAttrFlags = SAFE.union(MountAttrFlags::MOUNT_ATTR_RDONLY);

/// Creates a file system with the given options, not yet attached.
pub(crate) fn make_filesystem(
    kind: &str,
    options: &[(&str, &str)],
    attributes: MountAttrFlags,
) -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        if value.is_empty() {
            rustix::mount::fsconfig_set_flag(context.as_fd(), *name)?;
        } else {
            rustix::mount::fsconfig_set_string(context.as_fd(), *name, *value)?;
        }
    }
    rustix::mount::fsconfig_create(context.as_fd())?;
    Ok(rustix::mount::fsmount(
        context.as_fd(),
        FsMountFlags::FSMOUNT_CLOEXEC,
        attributes,
    )?)
}

/// Creates a tmpfs of a fixed size.
pub(crate) fn make_tmpfs(bytes: u64, inodes: u64, mode: &str) -> io::Result<OwnedFd> {
    let (size, inodes) = (bytes.to_string(), inodes.to_string());
    make_filesystem(
        "tmpfs",
        &[("size", &size), ("nr_inodes", &inodes), ("mode", mode)],
        SAFE,
    )
}

/// How names beneath a folder are resolved: down only, and through no link of any kind.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS);

/// Opens a folder by its path beneath another one. A link on that path is an error.
pub(crate) fn open_beneath(root: impl AsFd, path: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat2(
        root,
        path,
        flags,
        Mode::empty(),
        BENEATH,
    )?)
}

/// Clones the mount of an open folder, from that folder down, not yet attached.
pub(crate) fn clone_open_tree(folder: impl AsFd) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(rustix::mount::open_tree(folder, "", flags)?)
}

/// Clones what is mounted at `path`, and beneath it, not yet attached. For paths
/// of the operator's settings and of the launcher's own root: links are followed.
pub(crate) fn clone_tree(path: impl AsRef<Path>) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(rustix::mount::open_tree(CWD, path.as_ref(), flags)?)
}

/// Sets attributes on a mount and all beneath it.
pub(crate) fn set_attributes(mount: &OwnedFd, attributes: MountAttrFlags) -> io::Result<()> {
    sys::set_mount_attributes(mount.as_fd(), u64::from(attributes.bits()), true)
}

/// Attaches a mount at `path`.
pub(crate) fn attach(mount: &OwnedFd, path: impl AsRef<Path>) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(rustix::mount::move_mount(
        mount.as_fd(),
        "",
        CWD,
        path.as_ref(),
        flags,
    )?)
}

/// Clones `source`, sets attributes, and attaches it at `target`.
pub(crate) fn bind(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    attributes: MountAttrFlags,
) -> io::Result<()> {
    let tree = clone_tree(source)?;
    set_attributes(&tree, attributes)?;
    attach(&tree, target)
}

/// Detaches what is mounted at `path`, busy or not.
pub(crate) fn detach(path: impl AsRef<Path>) -> io::Result<()> {
    Ok(rustix::mount::unmount(path.as_ref(), UnmountFlags::DETACH)?)
}

/// Makes the current directory the root, and detaches the old one.
pub(crate) fn pivot_here() -> io::Result<()> {
    rustix::process::pivot_root(".", ".")?;
    detach(".")?;
    Ok(rustix::process::chdir("/")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_is_opened_through_a_link_or_outside() {
        let place = std::env::temp_dir().join(format!("launcher-{}", std::process::id()));
        let root = place.join("state");
        fs::create_dir_all(root.join("layers/real/sub")).unwrap();
        fs::create_dir_all(root.join("sessions/other/data")).unwrap();
        fs::write(root.join("layers/file"), "").unwrap();
        for (target, name) in [
            ("../sessions", "layers/up"),
            ("real", "layers/near"),
            ("/", "layers/top"),
            ("/proc/self/root", "layers/magic"),
            ("sessions", "linked"),
        ] {
            symlink(target, root.join(name)).unwrap();
        }
        let state = fs::File::open(&root).unwrap();
        assert!(open_beneath(&state, "layers/real/sub").is_ok());
        let outside = place.display().to_string();
        for path in [
            "layers/up",
            "layers/up/other",
            "layers/near",
            "layers/near/sub",
            "layers/top",
            "layers/magic",
            "linked/other/data",
            "layers/file",
            "layers/none",
            "../state",
            "layers/../../state",
            "/proc",
            outside.as_str(),
            "",
        ] {
            assert!(open_beneath(&state, path).is_err(), "{path}");
        }
        fs::remove_dir_all(place).unwrap();
    }
}
