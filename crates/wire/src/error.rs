//! Why a body could not be read or written, with the JSON path of the field at fault.
//!
//! Covers failures of translation. An error from a provider is
//! [`crate::neutral::ApiError`]; [`WireError::to_api_error`] converts one into the other.

use crate::Dialect;
use crate::client_fields::ClientFields;
use crate::excerpt::{excerpt, truncate_message};
use crate::field_name::{FieldName, ToFieldName};
use crate::json_path::JsonPath;
use crate::neutral::{ApiError, ErrorKind};

/// Why a body could not be read from, or written to, a dialect.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WireError {
    /// The bytes are not JSON.
    #[error("the body is not valid JSON: {message}")]
    NotJson {
        /// The parser's message, with line and column.
        message: String,
    },
    /// The values in it would take too much memory.
    #[error(
        "the body has too many values: parsed, they would take far more memory than a body may; \
         send fewer numbers and lists in one request"
    )]
    TooManyValues,
    /// A field is there more than once, and parsers do not agree which one counts.
    #[error("{}: duplicate field; send each field once", excerpt(.field))]
    Repeated {
        /// JSON path of the field.
        field: String,
    },
    /// A field that must be there is not.
    #[error("{field}: Field required")]
    Missing {
        /// JSON path of the field.
        field: String,
    },
    /// A required field is empty.
    #[error("{field}: {why}")]
    Incomplete {
        /// JSON path of the field.
        field: String,
        /// What is demanded there.
        why: &'static str,
    },
    /// A field holds the wrong kind of value.
    #[error("{field}: expected {expected}, found {found}")]
    WrongValue {
        /// JSON path of the field.
        field: String,
        /// What is allowed there.
        expected: &'static str,
        /// What was found.
        found: String,
    },
    /// A result of a tool, but no call that it could be the result of.
    #[error("{message}")]
    UnmatchedResult {
        /// JSON path of the result, as the vendor of the client's dialect names it.
        field: String,
        /// That vendor's error message.
        message: String,
    },
    /// A field is well formed, but the target dialect does not support it.
    #[error("{field}: {why}")]
    Unsupported {
        /// JSON path of the field.
        field: String,
        /// The dialect that does not support it.
        dialect: Dialect,
        /// What is missing there, and what to do instead.
        why: String,
    },
    /// Something in the conversation that is not in the client's body, such as an earlier
    /// response, and that the target dialect does not support.
    #[error("a stored or added part of the conversation cannot be sent to this model: {why}")]
    UnsupportedAddition {
        /// Its path in the neutral conversation.
        field: String,
        /// The dialect that does not support it.
        dialect: Dialect,
        /// What is missing there, and what to do instead.
        why: String,
    },
    /// The upstream's response is well formed and reports a failure.
    #[error("{0}")]
    UpstreamFailed(Box<ApiError>),
}

impl WireError {
    pub(crate) fn not_json(error: &serde_json::Error) -> Self {
        WireError::NotJson {
            message: error.to_string(),
        }
    }

    pub(crate) fn unsupported(
        dialect: Dialect,
        field: impl ToFieldName,
        why: impl Into<String>,
    ) -> Self {
        let why = why.into();
        match field.field_name() {
            FieldName::Sent(field) | FieldName::Setting(field) => WireError::Unsupported {
                field,
                dialect,
                why,
            },
            FieldName::Added(field) => WireError::UnsupportedAddition {
                field,
                dialect,
                why,
            },
        }
    }

    /// A block, part or item of a type that the dialect does not have in this place.
    pub(crate) fn unsupported_part(dialect: Dialect, path: &JsonPath<'_>, kind: &str) -> Self {
        let api = match dialect {
            Dialect::Messages => "Anthropic Messages",
            Dialect::Chat => "Chat Completions",
            Dialect::Responses => "Responses",
            Dialect::Gemini => "Gemini",
            Dialect::Converse => "Converse",
        };
        let why = format!(
            "the API of this model ({api}) has no {kind:?} in this place: leave it out, or use a \
             model whose API has it"
        );
        WireError::unsupported(dialect, path, why)
    }

    /// The error with the field name of the client's dialect.
    pub(crate) fn with_client_names(self, client: &ClientFields) -> Self {
        let (name, dialect, why) = match self {
            WireError::Unsupported {
                field,
                dialect,
                why,
            } => (FieldName::Setting(field), dialect, why),
            WireError::UnsupportedAddition {
                field,
                dialect,
                why,
            } => (FieldName::Added(field), dialect, why),
            other => return other,
        };
        let neutral = name.text().to_owned();
        match client.name(name) {
            Some(field) => WireError::Unsupported {
                field,
                dialect,
                why,
            },
            None => WireError::UnsupportedAddition {
                field: neutral,
                dialect,
                why,
            },
        }
    }

    /// The error with another path for the field at fault: for callers that changed a body
    /// before it was read, and know the original path.
    pub fn with_field(mut self, rename: impl FnOnce(&str) -> String) -> Self {
        match &mut self {
            WireError::NotJson { .. }
            | WireError::TooManyValues
            | WireError::UnsupportedAddition { .. }
            | WireError::UpstreamFailed(_) => {}
            WireError::Missing { field }
            | WireError::Incomplete { field, .. }
            | WireError::Repeated { field }
            | WireError::WrongValue { field, .. }
            | WireError::UnmatchedResult { field, .. }
            | WireError::Unsupported { field, .. } => *field = rename(field),
        }
        self
    }

    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            WireError::NotJson { .. } => "invalid-json",
            WireError::TooManyValues => "too-many-values",
            WireError::Repeated { .. } => "repeated-field",
            WireError::Missing { .. } | WireError::Incomplete { .. } => "missing-field",
            WireError::WrongValue { .. } => "wrong-field",
            WireError::UnmatchedResult { .. } => "tool-call-not-found",
            WireError::Unsupported { .. } | WireError::UnsupportedAddition { .. } => {
                "unsupported-field"
            }
            WireError::UpstreamFailed(_) => "upstream-failed",
        }
    }

    /// JSON path of the field at fault, in the client's body; `None` when the body is not
    /// JSON at all, or does not have it.
    pub fn field(&self) -> Option<&str> {
        match self {
            WireError::NotJson { .. }
            | WireError::TooManyValues
            | WireError::UnsupportedAddition { .. }
            | WireError::UpstreamFailed(_) => None,
            WireError::Missing { field }
            | WireError::Incomplete { field, .. }
            | WireError::Repeated { field }
            | WireError::WrongValue { field, .. }
            | WireError::UnmatchedResult { field, .. }
            | WireError::Unsupported { field, .. } => Some(field),
        }
    }

    /// The error response for a client whose request has this fault: a 400 with the field.
    pub fn to_api_error(&self) -> ApiError {
        ApiError {
            code: Some(self.code().to_owned()),
            param: self.field().map(|field| truncate_message(field.to_owned())),
            ..ApiError::new(
                ErrorKind::InvalidRequest,
                truncate_message(self.to_string()),
            )
        }
    }

    /// The error response for a client when the upstream's response has this fault: a 502, or
    /// the upstream's own error when it reported a failure.
    pub fn to_upstream_error(&self) -> ApiError {
        if let WireError::UpstreamFailed(error) = self {
            return ApiError::clone(error);
        }
        ApiError {
            status: 502,
            code: Some(self.code().to_owned()),
            ..ApiError::new(
                ErrorKind::Api,
                format!("the upstream's response could not be read: {self}"),
            )
        }
    }
}
