//! Errors of a toolbox itself, as opposed to a call: a call that fails is an outcome that
//! the model reads.

use prowess_sandbox::{Error as SandboxError, LAYOUT};

/// An error of a toolbox or of its workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolboxError {
    /// Two skills have the same name.
    #[error("two skills are named {name:?} ({first} and {second}); select only one of them")]
    SameName {
        /// The name.
        name: String,
        /// The id of the first, or what else is known of it.
        first: String,
        /// The id of the second.
        second: String,
    },
    /// Code execution is enabled without a workspace.
    #[error(
        "code execution is enabled, but there is no sandbox; provide a workspace or disable it"
    )]
    NoWorkspace,
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A file of the container could not be read.
    #[error("{}/{path}: {source}", LAYOUT.data)]
    File {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A file of the container is larger than may be read at once.
    #[error("{}/{path} is {size} bytes long, and the limit is {max}", LAYOUT.data)]
    FileTooLarge {
        /// The file.
        path: String,
        /// Its length.
        size: u64,
        /// The limit.
        max: u64,
    },
}

impl ToolboxError {
    /// A name for programs, stable across versions.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::SameName { .. } => "same-name",
            Self::NoWorkspace => "sandbox-unavailable",
            Self::Sandbox(error) => error.code(),
            Self::File { .. } => "file-unreadable",
            Self::FileTooLarge { .. } => "file-too-large",
        }
    }
}
