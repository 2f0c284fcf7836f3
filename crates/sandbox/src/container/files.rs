//! Access to a container's files: put, open, remove, list. Paths are checked and resolved
//! beneath the container's folder; links that its commands created are never followed.

use crate::collect::folder::{EntryKind, FolderHandle};
use crate::collect::{DiskUsage, ENTRY_BYTES, MAX_FOLDER_DEPTH, counted_bytes, measure};
use crate::error::{Error, ErrorContext};
use crate::name;
use crate::policy::SandboxLimits;
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// A file of a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Path relative to `/mnt/data`.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
}

/// The error when a container's folder cannot be opened.
const OPEN_FAILED: &str = "cannot open the files of the container";

/// Writes a file, creating its parent folders, and replaces an existing one. `reserve`
/// reserves that many bytes on the disk, or fails.
pub(crate) fn put(
    data: &Path,
    path: &str,
    bytes: &[u8],
    owner: Option<u32>,
    limits: &SandboxLimits,
    reserve: &dyn Fn(u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let names = name::split_path(path)?;
    let Some((file, folders)) = names.split_last() else {
        return Err(file_not_found(path));
    };
    if folders.len() >= MAX_FOLDER_DEPTH {
        return Err(Error::BadName {
            what: "path",
            name: path.to_owned(),
            why: "it is nested deeper than a container allows",
        });
    }
    let used = measure(data, DiskUsage::MAX, &mut |_, _| {})?.usage;
    let growth = measure_growth(data, folders, file).at(OPEN_FAILED, data)?;
    let size = bytes.len() as u64;
    let over = |allowed, unit| Error::OverQuota {
        path: path.to_owned(),
        allowed,
        unit,
    };
    if used.bytes.saturating_sub(growth.replaced) + size > limits.data_bytes {
        return Err(over(limits.data_bytes, "bytes"));
    }
    if growth.entries > 0 && used.entries + growth.entries > limits.container_entries {
        return Err(over(limits.container_entries, "files and folders"));
    }
    reserve(size.saturating_sub(growth.replaced) + growth.entries * ENTRY_BYTES)?;
    let saving = || format!("cannot save {path:?}");
    let mut folder = FolderHandle::open_path(data).at(OPEN_FAILED, data)?;
    for name in folders {
        folder = folder.make(name, 0o755, owner, false).context(saving())?;
    }
    folder
        .write(file, 0o644, owner, |part| part.write_all(bytes))
        .context(saving())
}

/// What a new file adds to a container.
struct Growth {
    /// New entries.
    entries: u64,
    /// Bytes of what it replaces.
    replaced: u64,
}

fn measure_growth(data: &Path, folders: &[CString], file: &CStr) -> io::Result<Growth> {
    let mut folder = Some(FolderHandle::open_path(data)?);
    let mut entries = 0;
    for name in folders {
        folder = match folder {
            Some(folder) if is_kind(&folder, name, EntryKind::Folder) => Some(folder.enter(name)?),
            _ => {
                entries += 1;
                None
            }
        };
    }
    let there = folder.and_then(|folder| folder.entry(file).ok());
    Ok(Growth {
        entries: entries + u64::from(there.is_none()),
        replaced: there.as_ref().map_or(0, counted_bytes),
    })
}

/// Opens a regular file for reading.
pub(crate) fn open(data: &Path, path: &str) -> Result<File, Error> {
    let names = name::split_path(path)?;
    let Some((file, folders)) = names.split_last() else {
        return Err(file_not_found(path));
    };
    let mut folder = FolderHandle::open_path(data).at(OPEN_FAILED, data)?;
    for name in folders {
        folder = folder.enter(name).map_err(|_| file_not_found(path))?;
    }
    if !is_kind(&folder, file, EntryKind::File) {
        return Err(file_not_found(path));
    }
    folder.open_file(file).map_err(|_| file_not_found(path))
}

/// Removes a regular file.
pub(crate) fn remove(data: &Path, path: &str) -> Result<(), Error> {
    // Fails if it is not a regular file.
    drop(open(data, path)?);
    let names = name::split_path(path)?;
    let Some((file, folders)) = names.split_last() else {
        return Err(file_not_found(path));
    };
    let mut folder = FolderHandle::open_path(data).at(OPEN_FAILED, data)?;
    for name in folders {
        folder = folder.enter(name).map_err(|_| file_not_found(path))?;
    }
    folder
        .remove(file)
        .context(format!("cannot remove {path:?}"))
}

fn is_kind(folder: &FolderHandle, name: &CStr, kind: EntryKind) -> bool {
    folder.entry(name).is_ok_and(|entry| entry.kind == kind)
}

/// Every regular file, by path.
pub(crate) fn list(data: &Path) -> Result<Vec<FileInfo>, Error> {
    let mut files = Vec::new();
    measure(data, DiskUsage::MAX, &mut |path, size| {
        files.push(FileInfo {
            path: path.to_owned(),
            size,
        })
    })?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn file_not_found(path: &str) -> Error {
    Error::FileNotFound {
        path: path.to_owned(),
    }
}
