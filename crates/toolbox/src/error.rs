//! What can go wrong with a toolbox itself, as opposed to a call: a call that fails is
//! an outcome that the model reads.

use prowess_sandbox::Error as SandboxError;

/// An error of a toolbox or of its workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolboxError {
    /// Two skills have one name.
    #[error(
        "two skills are called {name:?} ({first} and {second}); a model could not tell them apart, so name only one"
    )]
    SameName {
        /// The name.
        name: String,
        /// The id of the first, or what else is known of it.
        first: String,
        /// The id of the second.
        second: String,
    },
    /// Tools that run code were asked for, and there is nowhere to run it.
    #[error(
        "code execution was asked for, but there is no sandbox; give a workspace or turn it off"
    )]
    NoWorkspace,
    /// The sandbox did not do as asked.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A session's file could not be read.
    #[error("/mnt/data/{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A session's file is larger than may be read at once.
    #[error("/mnt/data/{path} is {size} bytes long, and {max} is the most that is read at once")]
    FileTooLarge {
        /// The file.
        path: String,
        /// Its length.
        size: u64,
        /// The most.
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
