//! Why a body could not be read or written, with the JSON path of the field at fault.
//!
//! Owns the failures of translation itself. What a provider answered is
//! [`crate::neutral::ApiError`]; [`WireError::to_api_error`] turns one into the other.

use crate::Dialect;
use crate::excerpt::{bounded, excerpt};
use crate::neutral::{ApiError, ErrorKind};

/// Why a body could not be read from, or written to, a dialect.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WireError {
    /// The bytes are not JSON.
    #[error("the body is not valid JSON: {message}")]
    NotJson {
        /// The parser's words, with line and column.
        message: String,
    },
    /// A field is there more than once, and parsers do not agree which one counts.
    #[error("{}: written more than once; write each field once", excerpt(.field))]
    Repeated {
        /// JSON path of the field.
        field: String,
    },
    /// A field that must be there is not.
    #[error("{field}: field required")]
    Missing {
        /// JSON path of the field.
        field: String,
    },
    /// A field holds the wrong kind of value.
    #[error("{field}: expected {expected}, found {found}")]
    Wrong {
        /// JSON path of the field.
        field: String,
        /// What may stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A field is well formed, but the target dialect has no way to say it.
    #[error("{field}: {why}")]
    Unsupported {
        /// JSON path of the field.
        field: String,
        /// The dialect that cannot say it.
        dialect: Dialect,
        /// What is missing there, and what to do instead.
        why: String,
    },
    /// The upstream's answer is well formed and says that it failed.
    #[error("{0}")]
    Failed(Box<ApiError>),
}

impl WireError {
    pub(crate) fn not_json(error: &serde_json::Error) -> Self {
        WireError::NotJson {
            message: error.to_string(),
        }
    }

    pub(crate) fn unsupported(
        dialect: Dialect,
        field: impl ToString,
        why: impl Into<String>,
    ) -> Self {
        WireError::Unsupported {
            field: field.to_string(),
            dialect,
            why: why.into(),
        }
    }

    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            WireError::NotJson { .. } => "invalid-json",
            WireError::Repeated { .. } => "repeated-field",
            WireError::Missing { .. } => "missing-field",
            WireError::Wrong { .. } => "wrong-field",
            WireError::Unsupported { .. } => "unsupported-field",
            WireError::Failed(_) => "upstream-failed",
        }
    }

    /// JSON path of the field at fault; none when the body is not JSON at all.
    pub fn field(&self) -> Option<&str> {
        match self {
            WireError::NotJson { .. } | WireError::Failed(_) => None,
            WireError::Missing { field }
            | WireError::Repeated { field }
            | WireError::Wrong { field, .. }
            | WireError::Unsupported { field, .. } => Some(field),
        }
    }

    /// The answer to a client whose request had this fault: a 400 that names the field.
    pub fn to_api_error(&self) -> ApiError {
        ApiError {
            code: Some(self.code().to_owned()),
            param: self.field().map(|field| bounded(field.to_owned())),
            ..ApiError::new(ErrorKind::InvalidRequest, bounded(self.to_string()))
        }
    }

    /// The answer to a client when an upstream's reply had this fault: a 502, or the
    /// upstream's own words when it says that it failed.
    pub fn to_upstream_error(&self) -> ApiError {
        if let WireError::Failed(error) = self {
            return ApiError::clone(error);
        }
        ApiError {
            status: 502,
            code: Some(self.code().to_owned()),
            ..ApiError::new(
                ErrorKind::Api,
                format!("the upstream's answer could not be read: {self}"),
            )
        }
    }
}
