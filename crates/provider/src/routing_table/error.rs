//! Why a name means no model.

use prowess_wire::excerpt;
use prowess_wire::neutral::{ApiError, ErrorKind};

/// Why a name means no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No entry and no provider matches.
    #[error("there is no model called \"{}\"{hint}", excerpt(.name))]
    Unknown {
        /// The name.
        name: String,
        /// What may be done about it.
        hint: String,
    },
    /// The provider is known, but not how to reach it.
    #[error("{}: {why}", excerpt(.name))]
    NotReady {
        /// The name.
        name: String,
        /// What is missing.
        why: String,
    },
}

impl RouteError {
    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            RouteError::Unknown { .. } => "model-not-found",
            RouteError::NotReady { .. } => "provider-not-ready",
        }
    }

    /// The error as a client is told of it.
    pub fn to_api_error(&self) -> ApiError {
        let kind = match self {
            RouteError::Unknown { .. } => ErrorKind::NotFound,
            RouteError::NotReady { .. } => ErrorKind::Authentication,
        };
        ApiError {
            code: Some(self.code().to_owned()),
            ..ApiError::new(kind, self.to_string())
        }
    }
}
