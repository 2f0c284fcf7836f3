//! Programs that packaging needs, installed below `target/packaging/`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::run::{root, target};
use crate::setup;

/// A set of programs, with a file of requirements in `packaging/`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ToolSet {
    /// What wheels are built and checked with
    Wheels,
    /// The same for older versions of glibc
    Zig,
}

impl ToolSet {
    /// Installs the programs, and returns their environment.
    pub(crate) fn install(self) -> anyhow::Result<PathBuf> {
        let (requirements, name) = match self {
            ToolSet::Wheels => ("packaging/requirements.txt", "wheels"),
            ToolSet::Zig => ("packaging/zig.txt", "zig"),
        };
        let place = target().join("packaging").join(name);
        setup::environment(&root().join(requirements), &place)?;
        Ok(place)
    }
}

/// The search path with a folder before all others.
pub(crate) fn with_first(folder: PathBuf) -> anyhow::Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(folders)?)
}
