//! A folder held by its descriptor. Every operation names one entry in it, never a
//! path, and follows no link.

use crate::beneath::{self, PathLinks};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, DirEntry, FileType, Gid, Mode, OFlags, RawMode, Uid, fchown};
use sha2::{Digest, Sha256};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

/// Name of the extended attribute by which an overlay marks that a folder replaces the
/// one beneath it.
const OPAQUE_ATTRIBUTE: &str = "user.overlay.opaque";

/// An open folder.
pub(crate) struct FolderHandle(pub(super) OwnedFd);

impl AsFd for FolderHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

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

impl FolderHandle {
    pub(crate) fn open_path(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    /// Opens a folder for listing by a path-only descriptor.
    pub(crate) fn reopen(folder: BorrowedFd<'_>) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = || beneath::open(folder, c".", flags, Mode::empty(), PathLinks::Refused);
        match open() {
            Err(rustix::io::Errno::ACCESS) => {
                rustix::fs::chmodat(folder, c".", Mode::RWXU, AtFlags::empty())?;
                Ok(Self(open()?))
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
        let found = beneath::stat(&self.0, name)?;
        let kind = match FileType::from_raw_mode(found.mode) {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => EntryKind::Symlink,
            FileType::CharacterDevice if found.is_device_zero => EntryKind::Deleted,
            _ => EntryKind::Special,
        };
        Ok(FileEntry {
            name: name.to_owned(),
            kind,
            size: found.size,
            allocated: found.allocated,
            links: found.links,
            mode: found.mode & 0o777,
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
        let open = || beneath::open(&self.0, name, flags, Mode::empty(), PathLinks::Refused);
        match open() {
            Err(rustix::io::Errno::ACCESS) => {
                beneath::set_mode(&self.0, name, needed)?;
                Ok(open()?)
            }
            other => Ok(other?),
        }
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
