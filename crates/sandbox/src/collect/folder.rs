//! A folder held by its descriptor. Every operation names one entry in it, never a
//! path, and follows no link.

use super::remove;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Dir, DirEntry, FileType, Mode, OFlags, RawMode, ResolveFlags, StatxFlags, fchown,
    openat2,
};
use rustix::fs::{Gid, Uid};
use sha2::{Digest, Sha256};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

/// How names are resolved: one step, down, no links, no other file system.
const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// Name of the extended attribute by which an overlay marks that a folder replaces the
/// one beneath it.
const OPAQUE_ATTRIBUTE: &str = "user.overlay.opaque";

/// Name under which a file is written before it is renamed. No collected entry can have
/// it, because it contains a control character.
const PARTIAL_NAME: &CStr = c"\x01part";

/// An open folder.
pub(crate) struct FolderHandle(OwnedFd);

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Folder,
    Symlink,
    /// An overlay's whiteout of a deleted entry.
    Deleted,
    Special,
}

/// One entry of a folder.
pub(crate) struct FileEntry {
    pub(crate) name: CString,
    pub(crate) kind: EntryKind,
    pub(crate) size: u64,
    /// Its disk usage in bytes.
    pub(crate) allocated: u64,
    pub(crate) links: u64,
    pub(crate) mode: RawMode,
}

/// A file that is written but not yet renamed.
struct PartialFile {
    file: File,
}

impl FolderHandle {
    pub(crate) fn open_path(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    /// Opens a folder for listing by a path-only descriptor.
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

    pub(crate) fn entries(&self) -> io::Result<Vec<FileEntry>> {
        let mut entries = Vec::new();
        let all = self.for_each_entry(&mut |entry| {
            entries.push(entry);
            Ok(ControlFlow::Continue(()))
        })?;
        debug_assert!(all.is_continue(), "nothing breaks");
        Ok(entries)
    }

    /// Calls `visit` with each entry until it breaks. An entry that disappears in the
    /// meantime is skipped: a process may be creating and removing files all the time.
    pub(crate) fn for_each_entry(
        &self,
        visit: &mut dyn FnMut(FileEntry) -> io::Result<ControlFlow<()>>,
    ) -> io::Result<ControlFlow<()>> {
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let found = match self.entry(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            if visit(found)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The names of at most `most` entries.
    pub(crate) fn names(&self, most: usize) -> io::Result<Vec<CString>> {
        let named = |entry: Result<DirEntry, _>| match entry {
            Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => None,
            Ok(entry) => Some(Ok(entry.file_name().to_owned())),
            Err(error) => Some(Err(io::Error::from(error))),
        };
        Dir::read_from(&self.0)?
            .filter_map(named)
            .take(most)
            .collect()
    }

    pub(crate) fn entry(&self, name: &CStr) -> io::Result<FileEntry> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let found = rustix::fs::statx(&self.0, name, flags, StatxFlags::BASIC_STATS)?;
        let mode = RawMode::from(found.stx_mode);
        let kind = match FileType::from_raw_mode(mode) {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => EntryKind::Symlink,
            FileType::CharacterDevice if (found.stx_rdev_major, found.stx_rdev_minor) == (0, 0) => {
                EntryKind::Deleted
            }
            _ => EntryKind::Special,
        };
        Ok(FileEntry {
            name: name.to_owned(),
            kind,
            size: found.stx_size,
            allocated: found.stx_blocks.saturating_mul(512),
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

    /// Opens an entry, first granting access if its mode does not: without root the server
    /// is its owner.
    fn open(&self, name: &CStr, flags: OFlags, needed: Mode) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat2(&self.0, name, flags, Mode::empty(), RESOLVE) {
            Err(rustix::io::Errno::ACCESS) => {
                self.grant_access(name, needed)?;
                Ok(openat2(&self.0, name, flags, Mode::empty(), RESOLVE)?)
            }
            other => Ok(other?),
        }
    }

    /// Changes the mode of an entry. By a descriptor: by its name, a running process could
    /// replace it with a link that would be followed.
    fn grant_access(&self, name: &CStr, needed: Mode) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let entry = openat2(&self.0, name, flags, Mode::empty(), RESOLVE)?;
        let found = rustix::fs::fstat(&entry)?;
        if FileType::from_raw_mode(found.st_mode).is_symlink() {
            return Err(rustix::io::Errno::LOOP.into());
        }
        let place = format!("/proc/self/fd/{}", entry.as_raw_fd());
        Ok(rustix::fs::chmod(place, needed)?)
    }

    /// Opens a folder in this one so that all in it can be removed.
    pub(crate) fn enter_to_clear(&self, name: &CStr) -> io::Result<Self> {
        let folder = self.enter(name)?;
        // Only its owner and root may; otherwise the following operations fail.
        let _ = rustix::fs::fchmod(&folder.0, Mode::RWXU);
        Ok(folder)
    }

    /// Moves an entry of this folder to another one.
    pub(crate) fn rename_to(&self, name: &CStr, to: &Self, new: &CStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, name, &to.0, new)?)
    }

    /// Removes an entry that is not a folder. False if it is a folder.
    pub(crate) fn unlink(&self, name: &CStr) -> io::Result<bool> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(true),
            Err(rustix::io::Errno::ISDIR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an empty folder.
    pub(crate) fn remove_empty(&self, name: &CStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Creates a folder that must not exist yet.
    pub(crate) fn mkdir(&self, name: &CStr, mode: Mode) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, name, mode)?)
    }

    /// Sets the owner and the mode of this folder.
    pub(crate) fn set_access(&self, owner: Option<(u32, u32)>, mode: RawMode) -> io::Result<()> {
        if let Some((uid, gid)) = owner {
            let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
            fchown(&self.0, Some(uid), Some(gid))?;
        }
        Ok(rustix::fs::fchmod(&self.0, Mode::from_raw_mode(mode))?)
    }

    /// Whether an overlay marked this folder as replacing what was there.
    pub(crate) fn is_opaque(&self) -> bool {
        let mut value = [0u8; 4];
        rustix::fs::fgetxattr(&self.0, OPAQUE_ATTRIBUTE, &mut value).is_ok_and(|length| length > 0)
    }

    /// Creates a folder, or uses the existing one unless it is to be replaced.
    pub(crate) fn make(
        &self,
        name: &CStr,
        mode: RawMode,
        owner: Option<u32>,
        replace: bool,
    ) -> io::Result<Self> {
        let there = self
            .entry(name)
            .is_ok_and(|entry| entry.kind == EntryKind::Folder);
        if replace || !there {
            self.remove(name)?;
            rustix::fs::mkdirat(&self.0, name, Mode::RWXU)?;
        }
        let folder = self.enter(name)?;
        set_owner(folder.0.as_fd(), owner)?;
        rustix::fs::fchmod(&folder.0, Mode::from_raw_mode(mode | 0o700))?;
        Ok(folder)
    }

    /// Removes an entry, with its content if it is a folder. A missing entry is no error.
    pub(crate) fn remove(&self, name: &CStr) -> io::Result<()> {
        remove::remove_tree(self, name)
    }

    /// Copies a symbolic link without following it.
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

    /// A new file, to be written and then passed to [`publish`](Self::publish).
    fn new_file(&self, mode: RawMode, owner: Option<u32>) -> io::Result<PartialFile> {
        self.remove(PARTIAL_NAME)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat2(
            &self.0,
            PARTIAL_NAME,
            flags,
            Mode::RUSR | Mode::WUSR,
            RESOLVE,
        )?;
        set_owner(file.as_fd(), owner)?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode | 0o600))?;
        Ok(PartialFile {
            file: File::from(file),
        })
    }

    /// Writes a new file and renames it to `name`, replacing an existing entry. If it
    /// fails, the partial file is removed.
    pub(crate) fn write<T>(
        &self,
        name: &CStr,
        mode: RawMode,
        owner: Option<u32>,
        fill: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut part = self.new_file(mode, owner)?;
        let written = fill(&mut part.file).and_then(|filled| {
            self.publish(part, name)?;
            Ok(filled)
        });
        if written.is_err() {
            // The first error is returned.
            let _ = self.unlink(PARTIAL_NAME);
        }
        written
    }

    /// Renames a written file to `name`, replacing an existing entry.
    fn publish(&self, _part: PartialFile, name: &CStr) -> io::Result<()> {
        if self
            .entry(name)
            .is_ok_and(|entry| entry.kind == EntryKind::Folder)
        {
            self.remove(name)?;
        }
        Ok(rustix::fs::renameat(&self.0, PARTIAL_NAME, &self.0, name)?)
    }

    /// SHA-256 of a regular file in this folder, `None` if it is not one.
    pub(crate) fn digest(&self, name: &CStr) -> Option<[u8; 32]> {
        self.entry(name)
            .ok()
            .filter(|entry| entry.kind == EntryKind::File)?;
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

fn set_owner(fd: BorrowedFd<'_>, owner: Option<u32>) -> io::Result<()> {
    let Some(id) = owner else { return Ok(()) };
    Ok(fchown(
        fd,
        Some(Uid::from_raw(id)),
        Some(Gid::from_raw(id)),
    )?)
}
