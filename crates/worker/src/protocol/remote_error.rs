//! Errors of a worker and of its sandbox, as gateways get them.

use prowess_sandbox::{BusyScope, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::time::Duration;

/// An error of a worker. Its text is for models and tenants: it has no path of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RemoteError {
    /// The code: one of the sandbox's (`prowess_sandbox::Error::code`), or of the constants
    /// of this type.
    pub code: String,
    /// What happened.
    pub message: String,
    /// Whether the command was started, so that it may have had effects outside its files.
    #[serde(default)]
    pub began: bool,
    /// What a caller needs besides the text. A kind that this build does not know is none.
    #[serde(default, deserialize_with = "known_kind")]
    pub kind: Option<Box<RemoteErrorKind>>,
}

/// Errors of a sandbox that callers tell apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemoteErrorKind {
    /// Too many commands of one tenant wait at this worker.
    TenantBusy {
        /// Its running commands.
        running: usize,
        /// Its waiting commands.
        waiting: usize,
        /// When a retry is likely to succeed.
        retry_after_ms: u64,
    },
    /// Too many wait for one container.
    ContainerQueueFull {
        /// The container.
        id: String,
        /// How many wait.
        waiting: usize,
    },
    /// A limit of the container.
    OverQuota {
        /// The file.
        path: String,
        /// The limit.
        allowed: u64,
        /// Its unit.
        unit: String,
    },
    /// A command line that is too long.
    TooLong {
        /// What is too long.
        what: String,
        /// Its length.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// A command or argument that cannot be used.
    BadName {
        /// What it names.
        what: String,
        /// The name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Packages could not be installed.
    Layer {
        /// The installer's output.
        why: String,
    },
    /// There is nowhere to install packages from.
    NoIndex {
        /// What is not set.
        what: String,
        /// Its setting.
        setting: String,
    },
}

/// Characters of a worker's text that are passed on: more than an installer's output has.
const MAX_TEXT_CHARS: usize = 8 << 10;

/// The longest time after which a worker can ask to retry.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// Texts of errors that this build knows: the sandbox's errors have no others.
const KNOWN_TEXTS: &[&str] = &[
    "argument",
    "bytes",
    "bytes of files",
    "code",
    "command",
    "entries",
    "files",
    "files and folders",
    "it holds a NUL byte",
    "npm registry",
    "npm_registry",
    "package index",
    "package_index",
    "path",
    "there is nothing to run",
];

impl RemoteError {
    /// The request is not valid.
    pub const BAD_REQUEST: &'static str = "bad-request";
    /// A command of the same id has another container or other files.
    pub const COMMAND_CONFLICT: &'static str = "command-conflict";
    /// The worker was to attach to a command that it does not know.
    pub const UNKNOWN_COMMAND: &'static str = "unknown-command";
    /// A gateway with a greater epoch has the run of the command.
    pub const RUN_LOST: &'static str = "run-lost";
    /// A gateway had the command killed.
    pub const KILLED: &'static str = "killed";
    /// No gateway waited for the command any more.
    pub const ABANDONED: &'static str = "abandoned";
    /// The worker was stopped before the command had ended.
    pub const STOPPED: &'static str = "worker-stopped";
    /// The gateway did not provide files, or not those of the digest.
    pub const FILES_UNAVAILABLE: &'static str = "files-unavailable";
    /// A content could not be fetched.
    pub const CONTENT_UNAVAILABLE: &'static str = "content-unavailable";
    /// The command changed too many files for one message.
    pub const RESULT_TOO_LARGE: &'static str = "result-too-large";
    /// The files of a kept result are not here any more.
    pub const RESULT_GONE: &'static str = "result-gone";
    /// A result could not be uploaded.
    pub const UPLOAD_FAILED: &'static str = "upload-failed";

    /// An error of the worker itself.
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            began: false,
            kind: None,
        }
    }

    /// Whether another worker may succeed: the cause is this worker, not the command.
    #[must_use]
    pub fn is_of_worker(&self) -> bool {
        matches!(
            self.code.as_str(),
            Self::STOPPED
                | Self::FILES_UNAVAILABLE
                | Self::CONTENT_UNAVAILABLE
                | Self::RESULT_GONE
                | Self::UPLOAD_FAILED
                | "container-busy"
                | "container-exists"
                | "container-not-found"
                | "disk-full"
                | "docker"
                | "io"
                | "launcher-gone"
                | "layer-gone"
                | "sandbox-launch"
                | "sandbox-refused"
                | "too-many-containers"
                | "unsupported"
        )
    }

    /// The error for those who call a sandbox.
    #[must_use]
    pub fn into_error(self) -> Error {
        let Self {
            code,
            message,
            kind,
            ..
        } = self;
        kind.and_then(|kind| kind.into_error())
            .unwrap_or(Error::Remote {
                code: shortened(code),
                message: shortened(message),
            })
    }
}

impl From<&Error> for RemoteError {
    fn from(error: &Error) -> Self {
        Self {
            kind: RemoteErrorKind::from_error(error).map(Box::new),
            ..Self::new(error.code(), error.to_string())
        }
    }
}

impl From<Error> for RemoteError {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

impl RemoteErrorKind {
    fn from_error(error: &Error) -> Option<Self> {
        Some(match error {
            Error::Busy {
                scope: BusyScope::Tenant,
                running,
                waiting,
                retry_after,
            } => Self::TenantBusy {
                running: *running,
                waiting: *waiting,
                retry_after_ms: millis(*retry_after),
            },
            Error::ContainerQueueFull { id, waiting } => Self::ContainerQueueFull {
                id: id.clone(),
                waiting: *waiting,
            },
            Error::OverQuota {
                path,
                allowed,
                unit,
            } => Self::OverQuota {
                path: path.clone(),
                allowed: *allowed,
                unit: (*unit).to_owned(),
            },
            Error::TooLong { what, bytes, most } => Self::TooLong {
                what: (*what).to_owned(),
                bytes: *bytes,
                most: *most,
            },
            Error::BadName { what, name, why } => Self::BadName {
                what: (*what).to_owned(),
                name: name.clone(),
                why: (*why).to_owned(),
            },
            Error::Layer { why } => Self::Layer { why: why.clone() },
            Error::NoIndex { what, setting } => Self::NoIndex {
                what: (*what).to_owned(),
                setting: (*setting).to_owned(),
            },
            _ => return None,
        })
    }

    /// The sandbox's error; none if it has a text that this build does not know.
    fn into_error(self) -> Option<Error> {
        Some(match self {
            Self::TenantBusy {
                running,
                waiting,
                retry_after_ms,
            } => Error::Busy {
                scope: BusyScope::Tenant,
                running,
                waiting,
                retry_after: Duration::from_millis(retry_after_ms).min(MAX_RETRY_AFTER),
            },
            Self::ContainerQueueFull { id, waiting } => Error::ContainerQueueFull {
                id: shortened(id),
                waiting,
            },
            Self::OverQuota {
                path,
                allowed,
                unit,
            } => Error::OverQuota {
                path: shortened(path),
                allowed,
                unit: known_text(&unit)?,
            },
            Self::TooLong { what, bytes, most } => Error::TooLong {
                what: known_text(&what)?,
                bytes,
                most,
            },
            Self::BadName { what, name, why } => Error::BadName {
                what: known_text(&what)?,
                name: shortened(name),
                why: known_text(&why)?,
            },
            Self::Layer { why } => Error::Layer {
                why: shortened(why),
            },
            Self::NoIndex { what, setting } => Error::NoIndex {
                what: known_text(&what)?,
                setting: known_text(&setting)?,
            },
        })
    }
}

fn known_text(text: &str) -> Option<&'static str> {
    KNOWN_TEXTS.iter().find(|known| **known == text).copied()
}

/// A text of a worker, which is not trusted, as long as one may be.
fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned(),
        None => text,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn known_kind<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<RemoteErrorKind>>, D::Error> {
    let given = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(given).ok())
}
