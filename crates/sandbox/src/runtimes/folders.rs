//! Folders of a runtime, and removing them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::{AtPlace, RuntimeError};

/// The root file system in the folder of a build.
pub(super) const ROOT: &str = "root";
/// Where Python packages are installed, below a folder per version of Python.
pub(super) const PYTHON_LIBRARIES: &str = "usr/local/lib";
/// Where npm packages are installed.
pub(super) const NODE_MODULES: &str = "usr/local/lib/node_modules";

/// The error when a folder cannot be removed.
const REMOVE_FAILED: &str = "cannot remove the runtime";

/// The folders that pip installs into.
pub(super) fn python_folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join(PYTHON_LIBRARIES));
    let entries = entries.into_iter().flatten().flatten();
    let is_python = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("python");
    let folders = entries.filter(|entry| is_python(&entry.file_name()));
    folders.map(|entry| entry.path()).collect()
}

/// Removes a folder, if there is one.
pub(super) fn remove_folder(folder: &Path) -> Result<(), RuntimeError> {
    ignore_missing(fs::remove_dir_all(folder)).at_place(REMOVE_FAILED, folder)
}

/// Nothing to remove is no failure.
pub(super) fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
