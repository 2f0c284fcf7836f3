//! A folder held by its descriptor. Every operation names one entry in it, never a
//! path, and follows no link.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, ResolveFlags, StatxFlags, fchown, openat2,
};
use rustix::fs::{Gid, Uid};
use sha2::{Digest, Sha256};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::path::Path;

/// How names are resolved: one step, down, no links, no other file system.
const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// Name of the extended attribute by which an overlay says that a folder replaces the
/// one beneath it.
const OPAQUE: &str = "user.overlay.opaque";

/// Name under which a file is written before it takes its place. No entry that was
/// collected can have it, for it holds a control character.
const PART: &CStr = c"\x01part";

/// An open folder.
pub(crate) struct Folder(OwnedFd);

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Symlink,
    /// The mark an overlay leaves where something was deleted.
    Deleted,
    Special,
}

/// One entry of a folder.
pub(crate) struct Entry {
    pub(crate) name: CString,
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    pub(crate) links: u64,
    pub(crate) mode: RawMode,
}

/// A file that is written but has no place yet.
pub(crate) struct Part {
    pub(crate) file: File,
}

impl Folder {
    pub(crate) fn open_path(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    /// Opens for listing what is known only by a descriptor.
    pub(crate) fn reopen(folder: BorrowedFd<'_>) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat2(folder, c".", flags, Mode::empty(), RESOLVE) {
            Err(rustix::io::Errno::ACCESS) => {
                rustix::fs::chmodat(folder, c".", Mode::RWXU, AtFlags::empty())?;
                Ok(Self(openat2(folder, c".", flags, Mode::empty(), RESOLVE)?))
            }
            other => Ok(Self(other?)),
        }
    }

    pub(crate) fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            entries.push(self.entry(name)?);
        }
        Ok(entries)
    }

    pub(crate) fn entry(&self, name: &CStr) -> io::Result<Entry> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let found = rustix::fs::statx(&self.0, name, flags, StatxFlags::BASIC_STATS)?;
        let mode = RawMode::from(found.stx_mode);
        let kind = match FileType::from_raw_mode(mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Symlink,
            FileType::CharacterDevice if (found.stx_rdev_major, found.stx_rdev_minor) == (0, 0) => {
                Kind::Deleted
            }
            _ => Kind::Special,
        };
        Ok(Entry {
            name: name.to_owned(),
            kind,
            size: found.stx_size,
            links: u64::from(found.stx_nlink),
            mode: mode & 0o777,
        })
    }

    /// Opens a regular file for reading.
    pub(crate) fn open_file(&self, name: &CStr) -> io::Result<File> {
        self.open(name, OFlags::RDONLY | OFlags::NONBLOCK, Mode::RUSR)
            .map(File::from)
    }

    /// Opens a folder in this one.
    pub(crate) fn enter(&self, name: &CStr) -> io::Result<Self> {
        self.open(name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::RWXU)
            .map(Self)
    }

    /// Opens an entry, giving ourselves the right first if its maker did not: without
    /// root we are its owner, and nothing that could swap it is alive.
    fn open(&self, name: &CStr, flags: OFlags, needed: Mode) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat2(&self.0, name, flags, Mode::empty(), RESOLVE) {
            Err(rustix::io::Errno::ACCESS) => {
                rustix::fs::chmodat(&self.0, name, needed, AtFlags::empty())?;
                Ok(openat2(&self.0, name, flags, Mode::empty(), RESOLVE)?)
            }
            other => Ok(other?),
        }
    }

    /// Whether an overlay marked this folder as replacing what was there.
    pub(crate) fn is_opaque(&self) -> bool {
        let mut value = [0u8; 4];
        rustix::fs::fgetxattr(&self.0, OPAQUE, &mut value).is_ok_and(|length| length > 0)
    }

    /// Makes a folder, or keeps the one that is there unless it is to be replaced.
    pub(crate) fn make(
        &self,
        name: &CStr,
        mode: RawMode,
        owner: Option<u32>,
        replace: bool,
    ) -> io::Result<Self> {
        let there = self
            .entry(name)
            .is_ok_and(|entry| entry.kind == Kind::Folder);
        if replace || !there {
            self.remove(name)?;
            rustix::fs::mkdirat(&self.0, name, Mode::RWXU)?;
        }
        let folder = self.enter(name)?;
        give(folder.0.as_fd(), owner)?;
        rustix::fs::fchmod(&folder.0, Mode::from_raw_mode(mode | 0o700))?;
        Ok(folder)
    }

    /// Removes an entry, with all in it if it is a folder. Nothing there is fine.
    pub(crate) fn remove(&self, name: &CStr) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(rustix::io::Errno::ISDIR) => {
                let folder = self.enter(name)?;
                for entry in folder.entries()? {
                    folder.remove(&entry.name)?;
                }
                Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Copies a symbolic link as the text it is.
    pub(crate) fn copy_link(&self, from: &Self, name: &CStr, owner: Option<u32>) -> io::Result<()> {
        let target = rustix::fs::readlinkat(&from.0, name, Vec::new())?;
        self.remove(name)?;
        rustix::fs::symlinkat(&target, &self.0, name)?;
        if let Some(id) = owner {
            let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            rustix::fs::chownat(&self.0, name, Some(uid), Some(gid), flags)?;
        }
        Ok(())
    }

    /// A new file, to be written and then [`put`](Self::put).
    pub(crate) fn new_file(&self, mode: RawMode, owner: Option<u32>) -> io::Result<Part> {
        self.remove(PART)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat2(&self.0, PART, flags, Mode::RUSR | Mode::WUSR, RESOLVE)?;
        give(file.as_fd(), owner)?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode | 0o600))?;
        Ok(Part {
            file: File::from(file),
        })
    }

    /// Gives a written file its place, instead of whatever is there.
    pub(crate) fn put(&self, _part: Part, name: &CStr) -> io::Result<()> {
        if self
            .entry(name)
            .is_ok_and(|entry| entry.kind == Kind::Folder)
        {
            self.remove(name)?;
        }
        Ok(rustix::fs::renameat(&self.0, PART, &self.0, name)?)
    }

    /// Length of a regular file in this folder, 0 if it is not one.
    pub(crate) fn size(&self, name: &CStr) -> u64 {
        let entry = self
            .entry(name)
            .ok()
            .filter(|entry| entry.kind == Kind::File);
        entry.map_or(0, |entry| entry.size)
    }

    /// SHA-256 of a regular file in this folder, `None` if it is not one.
    pub(crate) fn digest(&self, name: &CStr) -> Option<[u8; 32]> {
        self.entry(name)
            .ok()
            .filter(|entry| entry.kind == Kind::File)?;
        let mut digest = DigestWriter(Sha256::new());
        io::copy(&mut self.open_file(name).ok()?, &mut digest).ok()?;
        Some(digest.0.finalize().into())
    }
}

struct DigestWriter(Sha256);

impl io::Write for DigestWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn give(fd: BorrowedFd<'_>, owner: Option<u32>) -> io::Result<()> {
    let Some(id) = owner else { return Ok(()) };
    Ok(fchown(
        fd,
        Some(Uid::from_raw(id)),
        Some(Gid::from_raw(id)),
    )?)
}
