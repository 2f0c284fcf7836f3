//! Why a run could not start, or failed.

use std::time::Duration;

use prowess_provider::CallError;
use prowess_sandbox::{BusyScope, Error as SandboxError};
use prowess_skill::BundleError;
use prowess_store::Error as StoreError;
use prowess_toolbox::ToolboxError;
use prowess_wire::excerpt;
use prowess_wire::neutral::{ApiError, ErrorKind};

/// Why a run could not start, or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A field of the request about skills or containers is invalid.
    #[error("{field}: {why}")]
    InvalidField {
        /// The invalid field.
        field: String,
        /// What is wrong with it.
        why: String,
    },
    /// More skills than a request may name.
    #[error("a request may name {max} skills; it names {count}")]
    TooManySkills {
        /// How many it names.
        count: usize,
        /// How many are allowed.
        max: usize,
    },
    /// A skill that does not exist.
    #[error(
        "skill `{id}` not found: no skill that is stored here has this id (`skill_…`, not a name), \
         and the provider of model `{}` has no skills of its own; upload it, or name it in \
         `[skills] aliases`",
        excerpt(.model)
    )]
    UnknownSkill {
        /// As the request names it.
        id: String,
        /// The model of the request.
        model: String,
    },
    /// A version that the skill does not have, or that is revoked.
    #[error("{error}")]
    UnknownVersion {
        /// The skill.
        id: String,
        /// The error of the store.
        error: StoreError,
    },
    /// A skill in the request itself that is invalid.
    #[error("the skill `{}` in the request cannot be used: {why}", excerpt(.name))]
    InlineSkill {
        /// As the request names it.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A container that does not exist, or no longer.
    #[error(
        "container `{id}` not found: it does not exist, has expired, or belongs to another \
         tenant; omit its id to start a new one"
    )]
    ContainerNotFound {
        /// As the request names it.
        id: String,
    },
    /// A file to be placed in the container that does not exist.
    #[error("file `{id}` not found; upload it before it is put into a container")]
    FileNotFound {
        /// Its id.
        id: String,
    },
    /// The operator does not allow this domain.
    #[error(
        "{field}: code that runs here may not reach `{}`; leave it out, or have the \
         operator name it in `[sandbox] domains`",
        excerpt(.domain)
    )]
    NetworkNotAllowed {
        /// The field that names it.
        field: String,
        /// The domain.
        domain: String,
    },
    /// The request needs code execution, and there is no sandbox.
    #[error(
        "code execution is not available on this server: {why}; leave the code execution tool \
         out of the request, or see `prowess doctor`"
    )]
    SandboxUnavailable {
        /// Why not.
        why: String,
    },
    /// The toolbox failed, or the skills cannot be offered together.
    #[error(transparent)]
    Toolbox(#[from] ToolboxError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The call of the model failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The model's response was interrupted.
    #[error("{}", .0.message)]
    ResponseInterrupted(Box<ApiError>),
}

impl RunError {
    /// The stable error code.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            RunError::InvalidField { .. } => "skills-invalid",
            RunError::TooManySkills { .. } => "skills-too-many",
            RunError::UnknownSkill { .. } => "skill-not-found",
            RunError::UnknownVersion { error, .. } => error.code(),
            RunError::InlineSkill { .. } => "skill-inline-invalid",
            RunError::ContainerNotFound { .. } => "container-not-found",
            RunError::FileNotFound { .. } => "file-not-found",
            RunError::NetworkNotAllowed { .. } => "network-not-allowed",
            RunError::SandboxUnavailable { .. } => "sandbox-unavailable",
            RunError::Toolbox(error) => error.code(),
            RunError::Store(error) => error.code(),
            RunError::Call(error) => error.code(),
            RunError::ResponseInterrupted(error) => {
                error.code.as_deref().unwrap_or("upstream-error")
            }
        }
    }

    /// The error as the client receives it.
    #[must_use]
    pub fn to_api_error(&self) -> ApiError {
        let (kind, status) = match self {
            RunError::Call(error) => return error.to_api_error(),
            RunError::ResponseInterrupted(error) => return (**error).clone(),
            RunError::InvalidField { .. }
            | RunError::TooManySkills { .. }
            | RunError::InlineSkill { .. }
            | RunError::Toolbox(ToolboxError::SameName { .. }) => (ErrorKind::InvalidRequest, 400),
            RunError::UnknownVersion {
                error: StoreError::InvalidSelector { .. } | StoreError::VersionRevoked { .. },
                ..
            } => (ErrorKind::InvalidRequest, 400),
            RunError::UnknownSkill { .. }
            | RunError::UnknownVersion { .. }
            | RunError::ContainerNotFound { .. }
            | RunError::FileNotFound { .. } => (ErrorKind::NotFound, 404),
            RunError::NetworkNotAllowed { .. } => (ErrorKind::Permission, 403),
            RunError::SandboxUnavailable { .. } => (ErrorKind::Api, 503),
            RunError::Toolbox(ToolboxError::Sandbox(error)) => sandbox_error_kind(error),
            RunError::Toolbox(_) => (ErrorKind::Overloaded, 503),
            RunError::Store(StoreError::StorageFull { .. }) => (ErrorKind::Api, 507),
            RunError::Store(StoreError::QuotaExceeded { .. }) => (ErrorKind::Permission, 403),
            RunError::Store(StoreError::NulInText) => (ErrorKind::InvalidRequest, 400),
            RunError::Store(error) if error.is_transient() => (ErrorKind::Api, 503),
            RunError::Store(_) => (ErrorKind::Api, 500),
        };
        if let RunError::Store(error) = self
            && !is_for_client(error)
        {
            tracing::error!(code = error.code(), %error, "run failed");
        }
        ApiError {
            status,
            code: Some(self.code().to_owned()),
            param: self.field().map(str::to_owned),
            ..ApiError::new(kind, self.client_message())
        }
    }

    /// The message for the client, and for the record of the run, which its tenant can read. What
    /// is for the operator is only logged.
    pub(crate) fn client_message(&self) -> String {
        match self {
            RunError::Call(error) => error.to_api_error().message,
            RunError::Store(StoreError::StorageFull { .. }) => {
                "the server's disk is full; delete something or ask the operator".to_owned()
            }
            RunError::Store(error) if !is_for_client(error) => {
                "internal error; the server's log has the details under this request's id"
                    .to_owned()
            }
            other => other.to_string(),
        }
    }

    /// Whether the store could not be reached: the run itself has not failed.
    #[must_use]
    pub fn is_store_outage(&self) -> bool {
        match self {
            RunError::Store(error) => error.is_outage(),
            // The files of containers in a cluster.
            RunError::Toolbox(ToolboxError::Sandbox(error)) => {
                matches!(error, SandboxError::StoreUnreachable)
            }
            _ => false,
        }
    }

    /// When a retry may succeed, if known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            RunError::Call(error) => error.retry_after(),
            RunError::Toolbox(ToolboxError::Sandbox(error)) => error.retry_after(),
            _ => None,
        }
    }

    fn field(&self) -> Option<&str> {
        match self {
            RunError::InvalidField { field, .. } | RunError::NetworkNotAllowed { field, .. } => {
                Some(field)
            }
            _ => None,
        }
    }

    pub(crate) fn invalid_field(field: impl Into<String>, why: impl Into<String>) -> Self {
        RunError::InvalidField {
            field: field.into(),
            why: why.into(),
        }
    }

    pub(crate) fn inline_skill(name: &str, error: &BundleError) -> Self {
        RunError::InlineSkill {
            name: name.to_owned(),
            why: error.to_string(),
        }
    }
}

/// Whether an error of the store is about what the client did, so that it is shown.
fn is_for_client(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::QuotaExceeded { .. } | StoreError::NulInText
    )
}

/// Kind and status of a sandbox error for the client.
fn sandbox_error_kind(error: &SandboxError) -> (ErrorKind, u16) {
    match error {
        SandboxError::Busy {
            scope: BusyScope::Tenant,
            ..
        }
        | SandboxError::ContainerQueueFull { .. }
        | SandboxError::TooManyContainers { .. } => (ErrorKind::RateLimit, 429),
        SandboxError::DiskFull { .. } | SandboxError::HostDiskFull { .. } => (ErrorKind::Api, 507),
        SandboxError::OverQuota { .. } => (ErrorKind::TooLarge, 413),
        SandboxError::BadName { .. }
        | SandboxError::BadNameIn { .. }
        | SandboxError::TooLong { .. } => (ErrorKind::InvalidRequest, 400),
        SandboxError::ContainerNotFound { .. } | SandboxError::FileNotFound { .. } => {
            (ErrorKind::NotFound, 404)
        }
        SandboxError::Remote { .. } => (ErrorKind::Api, 500),
        // Dialects without this status render it as 503.
        SandboxError::NoWorker { .. } => (ErrorKind::Overloaded, 529),
        _ => (ErrorKind::Overloaded, 503),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_wire::{ClientDialect, render_client_error};

    #[test]
    fn an_id_that_cannot_be_stored_is_the_clients_fault() {
        let error = RunError::Store(StoreError::NulInText).to_api_error();
        assert_eq!((error.status, error.kind), (400, ErrorKind::InvalidRequest));
        assert!(error.message.contains("NUL"), "{}", error.message);
    }

    #[test]
    fn what_the_store_reports_of_itself_is_in_no_message() {
        let error = RunError::Store(StoreError::MalformedRow {
            table: "runs",
            reason: "at 10.0.0.7".to_owned(),
        });
        let message = error.client_message();
        assert!(!message.contains("10.0.0.7"), "{message}");
        assert_eq!(error.to_api_error().message, message);
    }

    #[test]
    fn a_limit_of_the_sandbox_has_the_status_of_its_scope() {
        let busy = |scope| SandboxError::Busy {
            scope,
            running: 1,
            waiting: 2,
            retry_after: Duration::from_secs(3),
        };
        let full = SandboxError::DiskFull {
            limit: "disk_size",
            used: 1,
            allowed: 1,
        };
        let over = SandboxError::OverQuota {
            path: "a".into(),
            allowed: 1,
            unit: "bytes",
        };
        let many = SandboxError::TooManyContainers {
            held: 1,
            allowed: 1,
        };
        let no_worker = SandboxError::NoWorker {
            why: "none is alive".into(),
            retry_after: Duration::from_secs(5),
        };
        let lost = SandboxError::WorkerLost {
            why: "three workers were lost".into(),
        };
        let remote = SandboxError::Remote {
            code: "io".into(),
            message: "the disk of a worker failed".into(),
        };
        for (error, status, seconds) in [
            (busy(BusyScope::Tenant), 429, Some(3)),
            (busy(BusyScope::Server), 503, Some(3)),
            (many, 429, None),
            (full, 507, None),
            (over, 413, None),
            (no_worker, 529, Some(5)),
            (lost, 503, None),
            (remote, 500, None),
        ] {
            let error = RunError::Toolbox(error.into());
            assert_eq!(error.to_api_error().status, status, "{error}");
            let retry = error.retry_after().map(|after| after.as_secs());
            assert_eq!(retry, seconds, "{error}");
        }
    }

    #[test]
    fn that_no_worker_is_free_has_the_status_of_an_overloaded_server_in_every_dialect() {
        let error = RunError::Toolbox(
            SandboxError::NoWorker {
                why: "none is alive".into(),
                retry_after: Duration::from_secs(5),
            }
            .into(),
        );
        for (client, status) in [
            (ClientDialect::Messages, 529),
            (ClientDialect::Chat, 503),
            (ClientDialect::Responses, 503),
            (ClientDialect::Gemini, 503),
        ] {
            let rendered = render_client_error(client, &error.to_api_error());
            assert_eq!(rendered.status, status, "{client:?}");
            let body = rendered.body.to_string();
            assert!(body.contains("no worker is available"), "{body}");
        }
    }
}
