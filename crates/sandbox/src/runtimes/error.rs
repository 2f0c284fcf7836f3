//! Errors of installing and using runtimes. The operator reads them, so they have paths.

use std::io;
use std::path::{Path, PathBuf};

use super::report::{MissingPrerequisite, RuntimeCheck};

/// Why a runtime cannot be installed, checked or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// Not a name.
    #[error(
        "`{name}` is not the name of a runtime: use lower-case letters, digits and hyphens; a path \
         has a slash (./{name})"
    )]
    BadName {
        /// What was given.
        name: String,
    },
    /// Not a list of packages.
    #[error("the list of packages is not valid: {why}")]
    BadDefinition {
        /// What is wrong with it.
        why: String,
    },
    /// There is no such runtime to install.
    #[error("there is no runtime `{name}`; available: {available}; or give your own with --list")]
    Unknown {
        /// The name.
        name: String,
        /// The names of those that Prowess knows.
        available: String,
    },
    /// The runtime is not installed.
    #[error("runtime `{name}` is not installed; run `prowess runtime install {name}`")]
    NotInstalled {
        /// The name.
        name: String,
    },
    /// The runtime is in use and cannot be removed.
    #[error(
        "runtime `{name}` is in use by a server or a command; stop it, then remove the runtime"
    )]
    InUse {
        /// The name.
        name: String,
    },
    /// The host lacks what an installation needs.
    #[error("a runtime cannot be installed here: {}", list(.0))]
    Prerequisites(Vec<MissingPrerequisite>),
    /// A program of the host failed.
    #[error("{what} failed: {why}; its whole output is in {}\n{tail}", .log.display())]
    Tool {
        /// The step.
        what: &'static str,
        /// How the program ended.
        why: String,
        /// The end of its output.
        tail: String,
        /// The file with its output.
        log: PathBuf,
    },
    /// The runtime was built, but does not work.
    #[error("the runtime does not work: {}", failed(.0))]
    Broken(Vec<RuntimeCheck>),
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] crate::Error),
    /// An operation on the host's file system failed.
    #[error("{what}: {}: {error}", .place.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// The path.
        place: PathBuf,
        /// The cause.
        error: io::Error,
    },
}

fn list(missing: &[MissingPrerequisite]) -> String {
    let lines = missing
        .iter()
        .map(|one| format!("{}; {}", one.what, one.remedy));
    lines.collect::<Vec<_>>().join("; ")
}

fn failed(checks: &[RuntimeCheck]) -> String {
    let failed = checks.iter().filter(|check| !check.ok);
    let lines = failed.map(|check| format!("{}: {}", check.name, check.detail));
    lines.collect::<Vec<_>>().join("; ")
}

/// Adds operation and path to an error of the file system.
pub(super) trait AtPlace<T> {
    /// `what` says what failed.
    fn at_place(self, what: &'static str, place: &Path) -> Result<T, RuntimeError>;
}

impl<T, E: Into<io::Error>> AtPlace<T> for Result<T, E> {
    fn at_place(self, what: &'static str, place: &Path) -> Result<T, RuntimeError> {
        self.map_err(|error| RuntimeError::Io {
            what,
            place: place.to_owned(),
            error: error.into(),
        })
    }
}
