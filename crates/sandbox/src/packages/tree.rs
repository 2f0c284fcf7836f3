//! Checks whether the result of a build can become a layer. Packages may have run code in
//! the build, so the tree is untrusted: it is opened without following links, and may
//! contain only folders, regular files and links that stay within it.

use crate::beneath::{self, PathLinks};
use crate::collect::ENTRY_BYTES;
use crate::error::{Error, ErrorContext};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, RawMode, Uid};
use rustix::io::Errno;
use std::ffi::CStr;
use std::path::Path;

/// The error when the host fails, not the packages.
const CHECK_FAILED: &str = "cannot check the built packages";

/// Maximum nesting of folders.
const MAX_DEPTH: usize = 64;

const FOLDER_MODE: RawMode = 0o755;
const FILE_MODE: RawMode = 0o444;
const PROGRAM_MODE: RawMode = 0o555;

/// Set-id bits of a mode.
const SET_ID: RawMode = 0o6000;

/// Limits of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeLimits {
    pub(super) entries: u64,
    pub(super) bytes: u64,
}

/// Checks the folder at `path` beneath `root`, takes ownership of it and makes it
/// read-only. Returns its disk usage in bytes. No process may be running that could write
/// to it.
pub(super) fn accept(
    root: &Path,
    path: &str,
    bounds: TreeLimits,
    become_owner: bool,
) -> Result<u64, Error> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, root, flags, Mode::empty())
        .context("cannot open the state folder")?;
    let tree = match beneath::open(&root, path, flags, Mode::empty(), PathLinks::Refused) {
        Err(Errno::LOOP | Errno::NOTDIR | Errno::NOENT | Errno::XDEV) => {
            return Err(refused_entry("", "the build left no folder of packages"));
        }
        opened => opened.context(CHECK_FAILED)?,
    };
    let owner = become_owner.then(|| (rustix::process::geteuid(), rustix::process::getegid()));
    let mut checker = TreeChecker {
        tree: tree.as_fd(),
        owner,
        left: bounds,
        bytes: 0,
    };
    checker.check_folder(&tree, "", 0)?;
    Ok(checker.bytes)
}

struct TreeChecker<'a> {
    tree: rustix::fd::BorrowedFd<'a>,
    /// The new owner, if the server may set it.
    owner: Option<(Uid, Gid)>,
    left: TreeLimits,
    bytes: u64,
}

impl TreeChecker<'_> {
    fn check_folder(&mut self, folder: &OwnedFd, path: &str, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(refused_entry(path, "its folders are too deep"));
        }
        for entry in Dir::read_from(folder).context(CHECK_FAILED)? {
            let entry = entry.context(CHECK_FAILED)?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let text = name.to_str().ok();
            let text = text.filter(|text| !text.chars().any(char::is_control));
            let text =
                text.ok_or_else(|| refused_entry(path, "it has a name that is not plain text"))?;
            let here = if path.is_empty() {
                text.to_owned()
            } else {
                format!("{path}/{text}")
            };
            self.check_entry(folder, name, &here, depth)?;
        }
        self.take_ownership(folder, FOLDER_MODE)
    }

    fn check_entry(
        &mut self,
        folder: &OwnedFd,
        name: &CStr,
        path: &str,
        depth: usize,
    ) -> Result<(), Error> {
        let found = beneath::stat(folder, name).context(CHECK_FAILED)?;
        let mode = found.mode;
        self.count(path, found.size)?;
        let kind = FileType::from_raw_mode(mode);
        if kind != FileType::Symlink && mode & SET_ID != 0 {
            return Err(refused_entry(path, "it has a set-id bit"));
        }
        match kind {
            FileType::Directory => {
                let down = open(folder, name, OFlags::DIRECTORY)?;
                self.check_folder(&down, path, depth + 1)
            }
            FileType::RegularFile if found.links > 1 => {
                Err(refused_entry(path, "it has more than one name"))
            }
            FileType::RegularFile => {
                let file = open(folder, name, OFlags::NONBLOCK)?;
                let executable = mode & 0o111 != 0;
                let mode = if executable { PROGRAM_MODE } else { FILE_MODE };
                self.take_ownership(&file, mode)
            }
            FileType::Symlink => self.check_link(folder, name, path),
            _ => Err(refused_entry(path, "it is not a file, folder or link")),
        }
    }

    /// The kernel checks whether a link stays within the tree, also through other links.
    fn check_link(&self, folder: &OwnedFd, name: &CStr, path: &str) -> Result<(), Error> {
        let flags = beneath::PATH_ONLY | OFlags::CLOEXEC;
        match beneath::open(self.tree, path, flags, Mode::empty(), PathLinks::Within) {
            // A dangling link cannot start to lead elsewhere: the tree does not change any more.
            Ok(_) | Err(Errno::NOENT) => {}
            Err(_) => return Err(refused_entry(path, "it is a link that leaves the packages")),
        }
        let Some((uid, gid)) = self.owner else {
            return Ok(());
        };
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::chownat(folder, name, Some(uid), Some(gid), flags).context(CHECK_FAILED)
    }

    fn take_ownership(&self, entry: &OwnedFd, mode: RawMode) -> Result<(), Error> {
        if let Some((uid, gid)) = self.owner {
            rustix::fs::fchown(entry, Some(uid), Some(gid)).context(CHECK_FAILED)?;
        }
        rustix::fs::fchmod(entry, Mode::from_raw_mode(mode)).context(CHECK_FAILED)
    }

    /// An entry uses disk space even if it is empty.
    fn count(&mut self, path: &str, bytes: u64) -> Result<(), Error> {
        let bytes = bytes.saturating_add(ENTRY_BYTES);
        let too_much = || refused_entry(path, "the packages are too many or too large");
        self.left.entries = self.left.entries.checked_sub(1).ok_or_else(too_much)?;
        self.left.bytes = self.left.bytes.checked_sub(bytes).ok_or_else(too_much)?;
        self.bytes += bytes;
        Ok(())
    }
}

fn open(folder: &OwnedFd, name: &CStr, kind: OFlags) -> Result<OwnedFd, Error> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | kind;
    beneath::open(folder, name, flags, Mode::empty(), PathLinks::Refused).context(CHECK_FAILED)
}

fn refused_entry(path: &str, why: &str) -> Error {
    let why = match path {
        "" => why.to_owned(),
        path => {
            let path: String = path.chars().take(200).collect();
            format!("{path:?}: {why}")
        }
    };
    Error::Layer { why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    const BOUNDS: TreeLimits = TreeLimits {
        entries: 20,
        bytes: 1 << 20,
    };

    /// A state folder with a tree that is valid before `change`.
    fn judged(change: impl FnOnce(&Path)) -> (tempfile::TempDir, Result<u64, Error>) {
        let state = tempfile::tempdir().unwrap();
        let layer = state.path().join("data/layer");
        fs::create_dir_all(layer.join("pkg/sub")).unwrap();
        fs::write(layer.join("pkg/a.py"), "a = 1\n").unwrap();
        symlink("../a.py", layer.join("pkg/sub/b.py")).unwrap();
        change(&layer);
        let accepted = accept(state.path(), "data/layer", BOUNDS, false);
        (state, accepted)
    }

    fn why(change: impl FnOnce(&Path)) -> String {
        judged(change).1.unwrap_err().to_string()
    }

    #[test]
    fn folders_files_and_inner_links_are_taken_and_become_read_only() {
        let (state, accepted) = judged(|layer| {
            fs::write(layer.join("run"), "x").unwrap();
            fs::set_permissions(layer.join("run"), PermissionsExt::from_mode(0o777)).unwrap();
            fs::set_permissions(layer.join("pkg"), PermissionsExt::from_mode(0o777)).unwrap();
            symlink("nothing-here", layer.join("dangling")).unwrap();
        });
        assert!(accepted.unwrap() >= 7 + 6 * ENTRY_BYTES);
        let mode = |path: &str| {
            let path = state.path().join("data/layer").join(path);
            fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
        };
        let modes = ["", "pkg", "pkg/a.py", "run"].map(mode);
        assert_eq!(modes, [0o755, 0o755, 0o444, 0o555]);
    }

    #[test]
    fn links_that_leave_are_refused_also_through_others() {
        let leaving: [(&str, &str); 5] = [
            ("/etc/passwd", "x"),
            ("../../meta.json", "x"),
            ("..", "x"),
            ("../../../other", "pkg/sub/x"),
            ("/proc/self/root", "x"),
        ];
        for (target, name) in leaving {
            let message = why(|layer| symlink(target, layer.join(name)).unwrap());
            assert!(
                message.contains("leaves the packages"),
                "{target}: {message}"
            );
        }
        // Word by word this one stays: pkg/sub/up/../x. But `up` is the top itself.
        let message = why(|layer| {
            symlink("../..", layer.join("pkg/sub/up")).unwrap();
            symlink("pkg/sub/up/../x", layer.join("sly")).unwrap();
        });
        assert!(message.contains("\"sly\""), "{message}");
    }

    #[test]
    fn what_is_no_folder_of_its_own_is_refused() {
        let instead: [fn(&Path); 4] = [
            |layer| symlink("../other", layer).unwrap(),
            |layer| symlink("/", layer).unwrap(),
            |layer| fs::write(layer, "x").unwrap(),
            |_| {},
        ];
        for make in instead {
            let message = why(|layer| {
                fs::create_dir(layer.with_file_name("other")).unwrap();
                fs::remove_dir_all(layer).unwrap();
                make(layer);
            });
            assert!(message.contains("no folder of packages"), "{message}");
        }
        let message = why(|layer| {
            let data = layer.parent().unwrap();
            fs::rename(data, data.with_file_name("real")).unwrap();
            symlink("real", data).unwrap();
        });
        assert!(message.contains("no folder of packages"), "{message}");
    }

    #[test]
    fn odd_kinds_bits_and_names_are_refused() {
        let fifo = |path: PathBuf| {
            rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        };
        assert!(why(|layer| fifo(layer.join("f"))).contains("not a file, folder or link"));
        let socket = why(|layer| {
            std::os::unix::net::UnixListener::bind(layer.join("s")).unwrap();
        });
        assert!(socket.contains("not a file, folder or link"), "{socket}");
        for bits in [0o4755, 0o2755] {
            let message = why(|layer| {
                let file = layer.join("pkg/a.py");
                fs::set_permissions(file, PermissionsExt::from_mode(bits)).unwrap();
            });
            assert!(message.contains("set-id"), "{message}");
        }
        let linked = why(|layer| {
            fs::hard_link(layer.join("pkg/a.py"), layer.join("again")).unwrap();
        });
        assert!(linked.contains("more than one name"), "{linked}");
        for name in [&b"a\xff"[..], b"a\nb", b"a\x1bb"] {
            let message = why(|layer| {
                fs::write(layer.join(OsStr::from_bytes(name)), "").unwrap();
            });
            assert!(message.contains("not plain text"), "{message}");
        }
    }

    #[test]
    fn more_than_its_bounds_is_refused() {
        let many = why(|layer| {
            for number in 0..20 {
                fs::write(layer.join(number.to_string()), "").unwrap();
            }
        });
        assert!(many.contains("too many"), "{many}");
        let (state, _) = judged(|layer| {
            for number in 0..10 {
                fs::write(layer.join(number.to_string()), "").unwrap();
            }
        });
        let small = TreeLimits {
            bytes: 10 * ENTRY_BYTES,
            ..BOUNDS
        };
        let empty = accept(state.path(), "data/layer", small, false).unwrap_err();
        assert!(empty.to_string().contains("too large"), "{empty}");
        let large = why(|layer| {
            let file = fs::File::create(layer.join("sparse")).unwrap();
            file.set_len(2 << 20).unwrap();
        });
        assert!(large.contains("too large"), "{large}");
        let deep = why(|layer| {
            let path: PathBuf = std::iter::repeat_n("d", 70).collect();
            fs::create_dir_all(layer.join(path)).unwrap();
        });
        assert!(deep.contains("too"), "{deep}");
    }
}
