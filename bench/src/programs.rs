//! Programs of the machine that benchmarks need, and whether they may use them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where a program is: on the PATH, or in one of these folders.
pub fn find(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).collect::<Vec<_>>();
    let all = on_path.iter().chain(folders);
    all.map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// What to say when one of these programs is not there.
pub fn missing(names: &[&str]) -> Option<String> {
    let absent = names.iter().find(|name| find(name, &[]).is_none())?;
    Some(format!("needs `{absent}`, which is not on the PATH"))
}

/// Whether this process may mount file systems and enter namespaces.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Words of a command line.
pub fn words(words: &[&str], path: Option<&Path>) -> Vec<OsString> {
    let words = words.iter().map(OsString::from);
    words.chain(path.map(OsString::from)).collect()
}
