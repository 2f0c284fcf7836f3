//! What can go wrong here, as opposed to inside a sandbox: a command that fails is an
//! outcome, not an error.

use prowess_launcher::Failure;
use std::io;

/// An error of the sandbox itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Too many are waiting already.
    #[error("busy: {running} commands run and {waiting} wait; try again later")]
    Busy {
        /// How many run.
        running: usize,
        /// How many wait.
        waiting: usize,
    },
    /// This host cannot give what the policy asks for.
    #[error("the sandbox is refused on this host: {reason}; {advice}")]
    Refused {
        /// What is missing.
        reason: String,
        /// What to install or set.
        advice: String,
    },
    /// A step of building the sandbox failed.
    #[error("the sandbox could not be built: {0}")]
    Launch(#[from] Failure),
    /// The launcher process ended unexpectedly.
    #[error("the sandbox launcher ended unexpectedly; the command was ended with it")]
    LauncherGone,
    /// No such session, or it belongs to someone else, or it has expired.
    #[error("no session {id}: it never was, has expired, or belongs to someone else")]
    NoSession {
        /// The id asked for.
        id: String,
    },
    /// Another process holds the session.
    #[error("session {id} is in use by another process")]
    SessionBusy {
        /// The id.
        id: String,
    },
    /// The disk is full even after evicting what may be evicted.
    #[error("no room for another session: {used} of {allowed} bytes are in use")]
    DiskFull {
        /// Bytes in use.
        used: u64,
        /// Bytes allowed.
        allowed: u64,
    },
    /// A name that must not become a path.
    #[error("{what} {name:?}: {why}")]
    BadName {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The same, found in a file.
    #[error("{what} {name:?} in {file}: {why}")]
    BadNameIn {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
        /// The file.
        file: String,
    },
    /// A file that is not there, or is not a regular file.
    #[error("no file {path:?} in the session")]
    NoFile {
        /// The path asked for.
        path: String,
    },
    /// More than the session may hold.
    #[error("{path:?} does not fit: the session may hold {allowed} bytes")]
    OverQuota {
        /// The file.
        path: String,
        /// Bytes allowed.
        allowed: u64,
    },
    /// A command line too long for the system.
    #[error("the {what} is {bytes} bytes long, and {most} is the most; write it to a file first")]
    TooLong {
        /// Code or argument.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The most there can be.
        most: usize,
    },
    /// The packages of a layer could not be had.
    #[error("the package layer could not be built: {why}")]
    Layer {
        /// What the installer said, or what is not set.
        why: String,
    },
    /// Something that the chosen backend does not have.
    #[error("the docker backend does not have {what}; use the native one for them")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
    },
    /// The Docker daemon did not do as asked.
    #[error("docker: {what}: {why}")]
    Docker {
        /// What was tried.
        what: &'static str,
        /// What the daemon, or the way to it, said.
        why: String,
    },
    /// The host's file system or processes did not do as asked.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl Error {
    /// A name for programs, stable across versions.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "busy",
            Self::Refused { .. } => "sandbox-refused",
            Self::Launch(_) => "sandbox-launch",
            Self::LauncherGone => "launcher-gone",
            Self::NoSession { .. } => "no-session",
            Self::SessionBusy { .. } => "session-busy",
            Self::DiskFull { .. } => "disk-full",
            Self::BadName { .. } | Self::BadNameIn { .. } => "bad-name",
            Self::NoFile { .. } => "no-file",
            Self::OverQuota { .. } => "over-quota",
            Self::TooLong { .. } => "too-long",
            Self::Layer { .. } => "layer",
            Self::Unsupported { .. } => "unsupported",
            Self::Docker { .. } => "docker",
            Self::Io { .. } => "io",
        }
    }
}

impl Error {
    /// Says which file a bad name was found in.
    pub(crate) fn within(self, file: &str) -> Self {
        match self {
            Self::BadName { what, name, why } => Self::BadNameIn {
                what,
                name,
                why,
                file: file.to_owned(),
            },
            other => other,
        }
    }
}

/// Says what was tried when it failed.
pub(crate) trait During<T> {
    fn during(self, what: impl std::fmt::Display) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> During<T> for Result<T, E> {
    fn during(self, what: impl std::fmt::Display) -> Result<T, Error> {
        self.map_err(|error| Error::Io {
            what: what.to_string(),
            source: error.into(),
        })
    }
}
