//! Why a name matches no model.

use prowess_wire::excerpt;
use prowess_wire::neutral::{ApiError, ErrorKind};

/// Why a name matches no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No entry and no provider matches.
    #[error("unknown model \"{}\"{hint}", excerpt(.name))]
    Unknown {
        /// The name.
        name: String,
        /// A suggestion.
        hint: String,
    },
    /// The provider is known, but it cannot be called.
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

    /// The error as sent to a client.
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
