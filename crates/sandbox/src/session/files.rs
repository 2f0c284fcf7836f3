//! A session's files from outside: put, open, remove, list. Paths are checked and resolved
//! beneath the session's folder; links that its commands made are never followed.

use crate::collect::folder::{Folder, Kind};
use crate::collect::measure;
use crate::error::{During, Error};
use crate::name;
use serde::{Deserialize, Serialize};
use std::ffi::CStr;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// A file of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Path relative to `/mnt/data`.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
}

/// Writes a file, making the folders on the way, and replaces what is there.
pub(crate) fn put(
    data: &Path,
    path: &str,
    bytes: &[u8],
    owner: Option<u32>,
    allowed: u64,
) -> Result<(), Error> {
    let names = name::split(path)?;
    let Some((file, folders)) = names.split_last() else {
        return Err(no_file(path));
    };
    let used = measure(data, &mut |_, _| {})?.bytes;
    let mut folder = Folder::open_path(data).during(data.display())?;
    for name in folders {
        folder = folder.make(name, 0o755, owner, false).during(path)?;
    }
    let after = used
        .saturating_sub(folder.size(file))
        .saturating_add(bytes.len() as u64);
    if after > allowed {
        return Err(Error::OverQuota {
            path: path.to_owned(),
            allowed,
        });
    }
    let mut part = folder.new_file(0o644, owner).during(path)?;
    part.file.write_all(bytes).during(path)?;
    folder.put(part, file).during(path)
}

/// Opens a regular file for reading.
pub(crate) fn open(data: &Path, path: &str) -> Result<File, Error> {
    let names = name::split(path)?;
    let Some((file, folders)) = names.split_last() else {
        return Err(no_file(path));
    };
    let mut folder = Folder::open_path(data).during(data.display())?;
    for name in folders {
        folder = folder.enter(name).map_err(|_| no_file(path))?;
    }
    if !is_file(&folder, file) {
        return Err(no_file(path));
    }
    folder.open_file(file).map_err(|_| no_file(path))
}

/// Removes a regular file.
pub(crate) fn remove(data: &Path, path: &str) -> Result<(), Error> {
    // Also tells whether it is one, wherever it lies.
    drop(open(data, path)?);
    let names = name::split(path)?;
    let Some((file, folders)) = names.split_last() else {
        return Err(no_file(path));
    };
    let mut folder = Folder::open_path(data).during(data.display())?;
    for name in folders {
        folder = folder.enter(name).map_err(|_| no_file(path))?;
    }
    folder.remove(file).during(path)
}

fn is_file(folder: &Folder, name: &CStr) -> bool {
    folder
        .entry(name)
        .is_ok_and(|entry| entry.kind == Kind::File)
}

/// Every regular file, by path.
pub(crate) fn list(data: &Path) -> Result<Vec<FileInfo>, Error> {
    let mut files = Vec::new();
    measure(data, &mut |path, size| {
        files.push(FileInfo {
            path: path.to_owned(),
            size,
        })
    })?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn no_file(path: &str) -> Error {
    Error::NoFile {
        path: path.to_owned(),
    }
}
