//! What can go wrong here, as opposed to inside a sandbox: a command that fails is an
//! outcome, not an error.
//!
//! Models and tenants read these texts, so no text holds a path of the host: that is in
//! the source of the error, in [`Error::detail`] and in the log.

use prowess_launcher::LaunchFailure;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Whose limit was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusyScope {
    /// What one tenant may have.
    Tenant,
    /// What all tenants together may have.
    Server,
}

/// An error of the sandbox itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Too many are waiting already.
    #[error("{}", busy(*.scope, *.running, *.waiting, *.retry_after))]
    Busy {
        /// Whose limit was met.
        scope: BusyScope,
        /// How many run, of the tenant's or in all.
        running: usize,
        /// How many wait, of the tenant's or in all.
        waiting: usize,
        /// When there is likely to be room again.
        retry_after: Duration,
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
    #[error("the sandbox could not be built: {}", launch(.0))]
    Launch(#[source] LaunchFailure),
    /// The launcher process ended unexpectedly.
    #[error("the sandbox launcher ended unexpectedly; the command was ended with it")]
    LauncherGone,
    /// No such session, or it belongs to someone else, or it has expired.
    #[error("no session {id}: it never was, has expired, or belongs to someone else")]
    ContainerNotFound {
        /// The id asked for.
        id: String,
    },
    /// Another process holds the session.
    #[error("session {id} is in use by another process")]
    ContainerBusy {
        /// The id.
        id: String,
    },
    /// Too many wait for one session.
    #[error("session {id} has {waiting} commands waiting; try again when some have ended")]
    ContainerQueueFull {
        /// The id.
        id: String,
        /// How many wait.
        waiting: usize,
    },
    /// The tenant has as many sessions as it may, and uses all of them.
    #[error(
        "{held} sessions are kept for this tenant and {allowed} is the most \
         (sessions_per_tenant); remove one, or try again when one has been idle for a while"
    )]
    TooManyContainers {
        /// Sessions of the tenant.
        held: usize,
        /// Sessions allowed.
        allowed: usize,
    },
    /// A limit on disk space is met even after evicting what may be evicted.
    #[error(
        "no room on disk: {used} of {allowed} bytes ({limit}) are in use; remove files or sessions"
    )]
    DiskFull {
        /// The setting that limits it.
        limit: &'static str,
        /// Bytes in use.
        used: u64,
        /// Bytes allowed.
        allowed: u64,
    },
    /// The host's disk is full.
    #[error("{what}: no space is left on the server's disk")]
    HostDiskFull {
        /// What was tried.
        what: String,
        /// Where, and why it failed.
        source: HostError,
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
    FileNotFound {
        /// The path asked for.
        path: String,
    },
    /// More than the session may hold.
    #[error("{path:?} does not fit: the session may hold {allowed} {unit}; remove some first")]
    OverQuota {
        /// The file.
        path: String,
        /// How many are allowed.
        allowed: u64,
        /// Of what.
        unit: &'static str,
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
    /// The packages of a session were removed to make room for others.
    #[error("the packages of this session were removed to make room; start a new session")]
    LayerGone,
    /// Something that the chosen backend does not have.
    #[error("the docker backend does not have {what}; use the native one for them")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
    },
    /// The Docker daemon did not do as asked.
    #[error("docker: {what} failed; the server's log says why")]
    Docker {
        /// What was tried.
        what: &'static str,
        /// What the daemon, or the way to it, said.
        source: DockerError,
    },
    /// The host's file system or processes did not do as asked.
    #[error("{what}: {}", source.error)]
    Io {
        /// What was tried.
        what: String,
        /// Where, and why it failed.
        source: HostError,
    },
}

/// An error of the host, with the place it happened at.
#[derive(Debug)]
pub struct HostError {
    place: Option<String>,
    error: io::Error,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        self.error.fmt(f)
    }
}

impl std::error::Error for HostError {}

/// What a Docker daemon, or the way to it, said.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DockerError(pub(crate) String);

impl From<LaunchFailure> for Error {
    fn from(failure: LaunchFailure) -> Self {
        tracing::warn!(error = %failure, "a sandbox could not be built");
        Self::Launch(failure)
    }
}

fn launch(failure: &LaunchFailure) -> String {
    let why = match failure.errno {
        Some(errno) => io::Error::from_raw_os_error(errno).to_string(),
        None => "the server's log says why".into(),
    };
    format!("{}: {why}", failure.step)
}

fn busy(scope: BusyScope, running: usize, waiting: usize, retry_after: Duration) -> String {
    let seconds = retry_after.as_secs().max(1);
    match scope {
        BusyScope::Tenant => format!(
            "busy: {running} commands of this tenant run and {waiting} wait, which is the most one \
             tenant may have; try again in {seconds} seconds"
        ),
        BusyScope::Server => format!(
            "busy: the server runs {running} commands and {waiting} wait; try again in {seconds} \
             seconds"
        ),
    }
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
            Self::ContainerNotFound { .. } => "no-session",
            Self::ContainerBusy { .. } => "session-busy",
            Self::ContainerQueueFull { .. } => "session-crowded",
            Self::TooManyContainers { .. } => "too-many-sessions",
            Self::DiskFull { .. } | Self::HostDiskFull { .. } => "disk-full",
            Self::BadName { .. } | Self::BadNameIn { .. } => "bad-name",
            Self::FileNotFound { .. } => "no-file",
            Self::OverQuota { .. } => "over-quota",
            Self::TooLong { .. } => "too-long",
            Self::Layer { .. } => "layer",
            Self::LayerGone => "layer-gone",
            Self::Unsupported { .. } => "unsupported",
            Self::Docker { .. } => "docker",
            Self::Io { .. } => "io",
        }
    }
}

impl Error {
    /// Everything that is known, with paths of the host: for operators, never for models
    /// or tenants.
    #[must_use]
    pub fn detail(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            text.push_str(&format!(": {error}"));
            source = error.source();
        }
        text
    }

    /// When it is worth trying again, if anyone knows.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } => Some(*retry_after),
            _ => None,
        }
    }

    fn from_host_io(what: String, place: Option<String>, error: io::Error) -> Self {
        if let Some(place) = &place {
            tracing::warn!(what, place, %error, "the host did not do as asked");
        }
        let full = matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        );
        let source = HostError { place, error };
        match full {
            true => Self::HostDiskFull { what, source },
            false => Self::Io { what, source },
        }
    }

    /// Says which file a bad name was found in.
    pub(crate) fn with_file(self, file: &str) -> Self {
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
pub(crate) trait ErrorContext<T> {
    /// `what` is read by models and tenants, unless it begins like a path of the host:
    /// then it is for the log only.
    fn during(self, what: impl fmt::Display) -> Result<T, Error>;

    /// Says what was tried, and in the log only, on which path of the host.
    fn at(self, what: &'static str, place: &Path) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> ErrorContext<T> for Result<T, E> {
    fn during(self, what: impl fmt::Display) -> Result<T, Error> {
        self.map_err(|error| {
            let what = what.to_string();
            match what.starts_with('/') {
                true => {
                    Error::from_host_io("a file of the sandbox".into(), Some(what), error.into())
                }
                false => Error::from_host_io(what, None, error.into()),
            }
        })
    }

    fn at(self, what: &'static str, place: &Path) -> Result<T, Error> {
        self.map_err(|error| {
            let place = Some(place.display().to_string());
            Error::from_host_io(what.into(), place, error.into())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_of_the_host_is_in_what_a_tenant_reads_and_a_full_disk_is_named() {
        let path = Path::new("/srv/data/sessions/container_1/meta.part");
        let full = || Err::<(), _>(io::Error::from_raw_os_error(28));
        for error in [
            full().at("the session could not be saved", path),
            full().during(path.display()),
        ] {
            let error = error.unwrap_err();
            assert_eq!(error.code(), "disk-full");
            assert!(!error.to_string().contains("/srv"), "{error}");
            assert!(error.detail().contains("meta.part"), "{}", error.detail());
        }
        let denied = Err::<(), _>(io::Error::from(io::ErrorKind::PermissionDenied));
        let denied = denied.at("the session could not be saved", path);
        let denied = denied.unwrap_err();
        assert_eq!(
            denied.to_string(),
            "the session could not be saved: permission denied"
        );
        let failure = LaunchFailure {
            step: prowess_launcher::spec::LaunchStep::Root,
            errno: Some(13),
            message: "/srv/data/state: denied".into(),
        };
        let launch = Error::from(failure);
        assert!(!launch.to_string().contains("/srv"), "{launch}");
        assert!(launch.detail().contains("/srv/data/state"));
    }
}
