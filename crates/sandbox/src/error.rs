//! Errors of the sandbox itself. A command that fails inside is an outcome, not an error.
//!
//! Models and tenants read these texts, so none contains a path of the host: those are in
//! the error's source, in [`Error::detail`] and in the log.

use prowess_launcher::LaunchFailure;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Whose limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusyScope {
    /// The limit of one tenant.
    Tenant,
    /// The limit of all tenants together.
    Server,
}

/// An error of the sandbox itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Too many are waiting already.
    #[error("{}", busy(*.scope, *.running, *.waiting, *.retry_after))]
    Busy {
        /// Whose limit was reached.
        scope: BusyScope,
        /// Running commands, of the tenant or in total.
        running: usize,
        /// Waiting commands, of the tenant or in total.
        waiting: usize,
        /// When a retry is likely to succeed.
        retry_after: Duration,
    },
    /// This host lacks features that the settings require.
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
    /// The container does not exist, belongs to another owner, or has expired.
    #[error(
        "container {id} not found: it does not exist, has expired, or belongs to another tenant"
    )]
    ContainerNotFound {
        /// The requested id.
        id: String,
    },
    /// A container with this id exists already.
    #[error("container {id} exists already")]
    ContainerExists {
        /// The id.
        id: String,
    },
    /// Another process uses the container.
    #[error("container {id} is in use by another process")]
    ContainerBusy {
        /// The id.
        id: String,
    },
    /// Too many wait for one container.
    #[error("container {id} has {waiting} commands waiting; try again when some have ended")]
    ContainerQueueFull {
        /// The id.
        id: String,
        /// How many wait.
        waiting: usize,
    },
    /// The tenant has reached its limit of containers, and all of them are in use.
    #[error(
        "this tenant has {held} of {allowed} containers \
         (containers_per_tenant); delete one, or try again when one has been idle for a while"
    )]
    TooManyContainers {
        /// Containers of the tenant.
        held: usize,
        /// Containers allowed.
        allowed: usize,
    },
    /// A disk limit is reached even after evicting all that may be evicted.
    #[error(
        "disk limit reached: {used} of {allowed} bytes ({limit}) are in use; delete files or \
         containers"
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
        /// The operation.
        what: String,
        /// The path and the cause.
        source: HostError,
    },
    /// A name that is not valid as part of a path.
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
    /// A file that does not exist, or is not a regular file.
    #[error("file {path:?} not found in the container")]
    FileNotFound {
        /// The requested path.
        path: String,
    },
    /// The container's limit would be exceeded.
    #[error("{path:?} does not fit: the container's limit is {allowed} {unit}; delete some first")]
    OverQuota {
        /// The file.
        path: String,
        /// The limit.
        allowed: u64,
        /// Its unit.
        unit: &'static str,
    },
    /// A command line too long for the system.
    #[error("the {what} is {bytes} bytes long, the limit is {most}; write it to a file first")]
    TooLong {
        /// Code or argument.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// There is nowhere to install packages from.
    #[error("the package layer could not be built: no {what} is set")]
    NoIndex {
        /// Package index or npm registry.
        what: &'static str,
        /// The setting under `[sandbox]` that names it.
        setting: &'static str,
    },
    /// A package layer could not be built.
    #[error("the package layer could not be built: {why}")]
    Layer {
        /// The installer's output, or the missing setting.
        why: String,
    },
    /// The packages of a container were evicted to free disk space.
    #[error(
        "the packages of this container were evicted to free disk space; create a new container"
    )]
    LayerGone,
    /// The chosen backend does not support something.
    #[error("the docker backend does not support {what}; use the native backend")]
    Unsupported {
        /// The unsupported feature.
        what: &'static str,
    },
    /// No worker could take the command in time.
    #[error("no worker is available: {why}; try again in {} seconds", seconds(*.retry_after))]
    NoWorker {
        /// What was found instead.
        why: String,
        /// When a retry may succeed.
        retry_after: Duration,
    },
    /// The workers that ran the command were lost, and it was given up.
    #[error("the command was interrupted and not completed: {why}")]
    WorkerLost {
        /// What happened, and whether it may have had effects.
        why: String,
    },
    /// An error of another host that is none of the others here.
    #[error("{message}")]
    Remote {
        /// Its code there.
        code: String,
        /// Its text, without paths of that host.
        message: String,
    },
    /// The database with the files of containers cannot be reached.
    #[error("the files of the container cannot be reached at the moment; try again")]
    StoreUnreachable,
    /// A request to the Docker daemon failed.
    #[error("docker: {what} failed; see the server's log")]
    Docker {
        /// The operation.
        what: &'static str,
        /// The error of the daemon or of the connection to it.
        source: DockerError,
    },
    /// An operation on the host's file system or processes failed.
    #[error("{what}: {}", source.error)]
    Io {
        /// The operation.
        what: String,
        /// The path and the cause.
        source: HostError,
    },
}

/// An error of the host, with the path it occurred at.
#[derive(Debug)]
pub struct HostError {
    place: Option<String>,
    error: io::Error,
}

impl HostError {
    /// The error number of the operating system.
    pub(crate) fn raw_os_error(&self) -> Option<i32> {
        self.error.raw_os_error()
    }
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

/// The error of a Docker daemon or of the connection to it.
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
        None => "see the server's log".into(),
    };
    format!("{}: {why}", failure.step)
}

/// Whole seconds to wait, at least one.
fn seconds(retry_after: Duration) -> u64 {
    retry_after.as_secs().max(1)
}

fn busy(scope: BusyScope, running: usize, waiting: usize, retry_after: Duration) -> String {
    let seconds = seconds(retry_after);
    match scope {
        BusyScope::Tenant => format!(
            "busy: this tenant has {running} commands running and {waiting} waiting, which is its \
             limit; try again in {seconds} seconds"
        ),
        BusyScope::Server => format!(
            "busy: the server has {running} commands running and {waiting} waiting; try again in \
             {seconds} seconds"
        ),
    }
}

impl Error {
    /// The error code for programs, stable across versions.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "busy",
            Self::Refused { .. } => "sandbox-refused",
            Self::Launch(_) => "sandbox-launch",
            Self::LauncherGone => "launcher-gone",
            Self::ContainerNotFound { .. } => "container-not-found",
            Self::ContainerExists { .. } => "container-exists",
            Self::ContainerBusy { .. } => "container-busy",
            Self::ContainerQueueFull { .. } => "container-queue-full",
            Self::TooManyContainers { .. } => "too-many-containers",
            Self::DiskFull { .. } | Self::HostDiskFull { .. } => "disk-full",
            Self::BadName { .. } | Self::BadNameIn { .. } => "bad-name",
            Self::FileNotFound { .. } => "file-not-found",
            Self::OverQuota { .. } => "over-quota",
            Self::TooLong { .. } => "too-long",
            Self::Layer { .. } | Self::NoIndex { .. } => "layer",
            Self::LayerGone => "layer-gone",
            Self::Unsupported { .. } => "unsupported",
            Self::NoWorker { .. } => "no-worker",
            Self::WorkerLost { .. } => "worker-lost",
            Self::Remote { .. } => "remote",
            Self::StoreUnreachable => "store-unreachable",
            Self::Docker { .. } => "docker",
            Self::Io { .. } => "io",
        }
    }
}

impl Error {
    /// The full error with paths of the host: for operators, never for models or tenants.
    #[must_use]
    pub fn detail(&self) -> String {
        // The source of these two repeats the cause, after the path.
        if let Self::Io { what, source } | Self::HostDiskFull { what, source } = self {
            return format!("{what}: {source}");
        }
        if let Self::Remote { code, message } = self {
            return format!("{message} ({code})");
        }
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            text.push_str(&format!(": {error}"));
            source = error.source();
        }
        text
    }

    /// When to retry, if known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } | Self::NoWorker { retry_after, .. } => {
                Some(*retry_after)
            }
            _ => None,
        }
    }

    fn from_host_io(what: String, place: Option<String>, error: io::Error) -> Self {
        if let Some(place) = &place {
            tracing::warn!(what, place, %error, "host operation failed");
        }
        let full = matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        );
        let source = HostError { place, error };
        if full {
            Self::HostDiskFull { what, source }
        } else {
            Self::Io { what, source }
        }
    }

    /// Adds the file that a bad name was found in.
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

/// Adds the failed operation to an error.
pub(crate) trait ErrorContext<T> {
    /// `failed` says what failed ("cannot save the container"), for models and tenants:
    /// without paths of the host.
    fn context(self, failed: impl fmt::Display) -> Result<T, Error>;

    /// The same, with the path of the host, which is only logged.
    fn at(self, failed: &'static str, place: &Path) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> ErrorContext<T> for Result<T, E> {
    fn context(self, failed: impl fmt::Display) -> Result<T, Error> {
        self.map_err(|error| Error::from_host_io(failed.to_string(), None, error.into()))
    }

    fn at(self, failed: &'static str, place: &Path) -> Result<T, Error> {
        self.map_err(|error| {
            let place = Some(place.display().to_string());
            Error::from_host_io(failed.into(), place, error.into())
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
        let error = full().at("cannot save the container", path).unwrap_err();
        assert_eq!(error.code(), "disk-full");
        assert!(!error.to_string().contains("/srv"), "{error}");
        assert!(error.detail().contains("meta.part"), "{}", error.detail());
        let denied = Err::<(), _>(io::Error::from(io::ErrorKind::PermissionDenied));
        let denied = denied.at("cannot save the container", path);
        let denied = denied.unwrap_err();
        assert_eq!(
            denied.to_string(),
            "cannot save the container: permission denied"
        );
        assert_eq!(
            denied.detail(),
            "cannot save the container: /srv/data/sessions/container_1/meta.part: permission denied"
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
