//! Writing into a folder: each operation replaces what has the name, of any kind, and
//! follows no link.

use super::folder::{EntryKind, FolderHandle};
use crate::beneath::{self, PathLinks};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, RawMode, Uid, fchown};
use std::ffi::CStr;
use std::fs::File;
use std::io;

/// Name under which a file is written before it is renamed. No collected entry can have
/// it, because it contains a control character.
const PARTIAL_NAME: &CStr = c"\x01part";

/// A file that is written but not yet renamed.
struct PartialFile {
    file: File,
}

impl FolderHandle {
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
        let mode_now = Mode::RUSR | Mode::WUSR;
        let file = beneath::open(&self.0, PARTIAL_NAME, flags, mode_now, PathLinks::Refused)?;
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
}

fn set_owner(fd: BorrowedFd<'_>, owner: Option<u32>) -> io::Result<()> {
    let Some(id) = owner else { return Ok(()) };
    Ok(fchown(
        fd,
        Some(Uid::from_raw(id)),
        Some(Gid::from_raw(id)),
    )?)
}
