//! Opens and describes files in folders that hostile code may have written: relative to an
//! open folder, and never through a link that leads out of it.
//!
//! On Linux the kernel resolves the whole path under that rule (`openat2`). Other systems
//! have no such call: there each name is opened by itself and links are refused, which is
//! enough for the Docker backend. Paths with links are needed by the native backend only.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, RawMode};
use rustix::io::Result;
use std::ffi::CStr;

/// Which links a path may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathLinks {
    /// None.
    Refused,
    /// Those that stay within the folder.
    Within,
    /// Those that a program with the folder as its root would follow, also absolute ones.
    AsRoot,
}

/// What is known of an entry without opening it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryStat {
    /// Type and permissions.
    pub(crate) mode: RawMode,
    /// Length in bytes.
    pub(crate) size: u64,
    /// Its disk usage in bytes.
    pub(crate) allocated: u64,
    /// How many names it has.
    pub(crate) links: u64,
    /// Whether its device number is 0: an overlay's mark of a deleted entry.
    pub(crate) is_device_zero: bool,
}

pub(crate) use system::{PATH_ONLY, open, set_mode, stat};

#[cfg(target_os = "linux")]
mod system {
    use super::{AsFd, CStr, EntryStat, Mode, OFlags, OwnedFd, PathLinks, RawMode, Result};
    use rustix::fd::AsRawFd;
    use rustix::fs::{AtFlags, FileType, ResolveFlags, StatxFlags, chmod, fstat, openat2, statx};

    /// Opens only the place of a file: no permission on the file itself is needed.
    pub(crate) const PATH_ONLY: OFlags = OFlags::PATH;

    /// Opens a path beneath a folder.
    pub(crate) fn open(
        folder: impl AsFd,
        path: impl rustix::path::Arg,
        flags: OFlags,
        mode: Mode,
        links: PathLinks,
    ) -> Result<OwnedFd> {
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV;
        let resolve = match links {
            PathLinks::Refused => within | ResolveFlags::NO_SYMLINKS,
            PathLinks::Within => within,
            PathLinks::AsRoot => ResolveFlags::IN_ROOT,
        };
        let resolve = resolve | ResolveFlags::NO_MAGICLINKS;
        openat2(folder, path, flags, mode, resolve)
    }

    /// Describes an entry of a folder, a link itself and not its target.
    pub(crate) fn stat(folder: impl AsFd, name: &CStr) -> Result<EntryStat> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let found = statx(folder, name, flags, StatxFlags::BASIC_STATS)?;
        Ok(EntryStat {
            mode: RawMode::from(found.stx_mode),
            size: found.stx_size,
            allocated: found.stx_blocks.saturating_mul(512),
            links: u64::from(found.stx_nlink),
            is_device_zero: (found.stx_rdev_major, found.stx_rdev_minor) == (0, 0),
        })
    }

    /// Sets the permissions of an entry that is not a link. By a descriptor: by its name, a
    /// running process could replace it with a link that would be followed.
    pub(crate) fn set_mode(folder: impl AsFd, name: &CStr, mode: Mode) -> Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let entry = open(folder, name, flags, Mode::empty(), PathLinks::Refused)?;
        if FileType::from_raw_mode(fstat(&entry)?.st_mode).is_symlink() {
            return Err(rustix::io::Errno::LOOP);
        }
        chmod(format!("/proc/self/fd/{}", entry.as_raw_fd()), mode)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{AsFd, CStr, EntryStat, Mode, OFlags, OwnedFd, PathLinks, Result};
    use rustix::fs::{AtFlags, chmodat, openat, statat};
    use rustix::io::Errno;

    /// There is no such mode of opening here.
    pub(crate) const PATH_ONLY: OFlags = OFlags::empty();

    /// Opens a path beneath a folder, one name after the other.
    pub(crate) fn open(
        folder: impl AsFd,
        path: impl rustix::path::Arg,
        flags: OFlags,
        mode: Mode,
        links: PathLinks,
    ) -> Result<OwnedFd> {
        if links != PathLinks::Refused {
            return Err(Errno::NOSYS);
        }
        let path = path.as_str()?;
        let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
        if path.starts_with('/') || names.clone().any(|name| name == "..") {
            return Err(Errno::XDEV);
        }
        let mut parent: Option<OwnedFd> = None;
        while let Some(name) = names.next() {
            let is_last = names.peek().is_none();
            let parent_flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let flags = if is_last { flags } else { parent_flags } | OFlags::NOFOLLOW;
            let opened = match &parent {
                Some(parent) => openat(parent, name, flags, mode)?,
                None => openat(&folder, name, flags, mode)?,
            };
            if is_last {
                return Ok(opened);
            }
            parent = Some(opened);
        }
        Err(Errno::NOENT)
    }

    /// Describes an entry of a folder, a link itself and not its target.
    pub(crate) fn stat(folder: impl AsFd, name: &CStr) -> Result<EntryStat> {
        let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let blocks = u64::try_from(found.st_blocks).unwrap_or(0);
        Ok(EntryStat {
            mode: found.st_mode,
            size: u64::try_from(found.st_size).unwrap_or(0),
            allocated: blocks.saturating_mul(512),
            links: u64::from(found.st_nlink),
            is_device_zero: found.st_rdev == 0,
        })
    }

    /// Sets the permissions of an entry that is not a link.
    pub(crate) fn set_mode(folder: impl AsFd, name: &CStr, mode: Mode) -> Result<()> {
        chmodat(folder, name, mode, AtFlags::SYMLINK_NOFOLLOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::CWD;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_is_opened_within_its_folder_and_through_the_permitted_links_only() {
        let outer = tempfile::tempdir().unwrap();
        fs::create_dir_all(outer.path().join("root/sub")).unwrap();
        fs::write(outer.path().join("secret"), "x").unwrap();
        fs::write(outer.path().join("root/sub/file"), "x").unwrap();
        let link = |target: &str, name: &str| {
            symlink(target, outer.path().join("root").join(name)).unwrap();
        };
        link("sub", "inner");
        link("/sub", "absolute");
        link("../secret", "leaving");
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let root = outer.path().join("root");
        let root = rustix::fs::openat(CWD, root, flags | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let is_opened = |path: &str| {
            [PathLinks::Refused, PathLinks::Within, PathLinks::AsRoot]
                .map(|links| open(&root, path, flags, Mode::empty(), links).is_ok())
        };
        assert_eq!(is_opened("sub/file"), [true, true, true]);
        assert_eq!(is_opened("inner/file"), [false, true, true]);
        assert_eq!(is_opened("absolute/file"), [false, false, true]);
        assert_eq!(is_opened("leaving"), [false, false, false]);
        assert_eq!(is_opened("../secret"), [false, false, false]);
    }

    #[test]
    fn permissions_of_a_link_are_not_those_of_its_target() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "x").unwrap();
        symlink("file", folder.path().join("link")).unwrap();
        let opened = fs::File::open(folder.path()).unwrap();
        set_mode(&opened, c"file", Mode::RUSR).unwrap();
        assert_eq!(stat(&opened, c"file").unwrap().mode & 0o777, 0o400);
        assert!(set_mode(&opened, c"link", Mode::RWXU).is_err());
        assert_eq!(stat(&opened, c"file").unwrap().mode & 0o777, 0o400);
    }
}
