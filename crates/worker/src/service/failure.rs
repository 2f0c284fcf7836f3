//! Why a command did not run, or has no result.

use crate::protocol::{RemoteError, WorkerReply};
use prowess_sandbox::Error;
use std::time::Duration;

/// Why a command did not run, or has no result.
#[derive(Debug)]
pub(super) enum CommandFailure {
    /// The sandbox's queue is full: another worker may have room.
    Busy {
        running: usize,
        waiting: usize,
        retry_after: Duration,
    },
    /// Of the sandbox, which may be tried again with a new copy of the container.
    Sandbox(Error),
    /// Of the worker.
    Remote(RemoteError),
}

impl From<Error> for CommandFailure {
    fn from(error: Error) -> Self {
        match error {
            // The limit of a tenant is one of this worker too.
            Error::Busy {
                running,
                waiting,
                retry_after,
                ..
            } => Self::Busy {
                running,
                waiting,
                retry_after,
            },
            error => Self::Sandbox(error),
        }
    }
}

impl From<RemoteError> for CommandFailure {
    fn from(error: RemoteError) -> Self {
        Self::Remote(error)
    }
}

impl CommandFailure {
    /// The code of the error.
    pub(super) fn code(&self) -> &str {
        match self {
            Self::Busy { .. } => "busy",
            Self::Sandbox(error) => error.code(),
            Self::Remote(error) => &error.code,
        }
    }

    /// Whether the copy of the container, or what it is made of, was evicted.
    pub(super) fn is_of_evicted_copy(&self) -> bool {
        matches!(
            self,
            Self::Sandbox(Error::ContainerNotFound { .. } | Error::LayerGone)
        )
    }

    /// Whether the command was certainly not started.
    pub(super) fn is_before_start(&self) -> bool {
        match self {
            Self::Busy { .. } => true,
            Self::Sandbox(error) => matches!(
                error.code(),
                "bad-name"
                    | "busy"
                    | "container-busy"
                    | "container-not-found"
                    | "container-queue-full"
                    | "layer-gone"
                    | "sandbox-launch"
                    | "too-long"
                    | "unsupported"
            ),
            Self::Remote(_) => false,
        }
    }

    /// The reply to those who wait for the command.
    pub(super) fn into_reply(self, began: bool) -> WorkerReply {
        let failed = |error: RemoteError| {
            WorkerReply::Failed(RemoteError {
                began: began || error.began,
                ..error
            })
        };
        match self {
            Self::Busy {
                running,
                waiting,
                retry_after,
            } => WorkerReply::Busy {
                running,
                waiting,
                retry_after_ms: u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX),
                of_tenant: false,
            },
            Self::Sandbox(error) => {
                tracing::warn!(error = %error.detail(), "a command could not be run");
                failed(error.into())
            }
            Self::Remote(error) => failed(error),
        }
    }
}
