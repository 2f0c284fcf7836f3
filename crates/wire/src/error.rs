//! Why a body could not be read or written, with the JSON path of the field at fault.
//!
//! Owns the failures of translation itself. What a provider answered is
//! [`crate::neutral::ApiError`]; [`WireError::to_api_error`] turns one into the other.

use crate::Dialect;
use crate::client_fields::ClientFields;
use crate::excerpt::{excerpt, truncate_message};
use crate::field_names::{FieldName, ToFieldName};
use crate::fields::JsonPath;
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
    #[error("{field}: Field required")]
    Missing {
        /// JSON path of the field.
        field: String,
    },
    /// A field that must say something says nothing.
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
        /// What may stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A result of a tool, but no call that it could be the result of.
    #[error("{message}")]
    UnmatchedResult {
        /// JSON path of the result, as the vendor of the client's dialect names it.
        field: String,
        /// What that vendor says of it.
        message: String,
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
    /// Something in the conversation that is not in the client's body, such as an earlier
    /// answer, which the target dialect has no way to say.
    #[error("something from before this request, or added to it here, cannot be sent: {why}")]
    UnsupportedAddition {
        /// Its path in the neutral conversation.
        field: String,
        /// The dialect that cannot say it.
        dialect: Dialect,
        /// What is missing there, and what to do instead.
        why: String,
    },
    /// The upstream's answer is well formed and says that it failed.
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

    /// The error with the setting at fault in the words of the request's client.
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

    /// The error with another path for the field at fault: for whoever changed a body
    /// before it was read, and knows where its client had it.
    pub fn with_field(mut self, rename: impl FnOnce(&str) -> String) -> Self {
        match &mut self {
            WireError::NotJson { .. }
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

    /// JSON path of the field at fault, in the client's body; none when the body is not
    /// JSON at all, or does not have it.
    pub fn field(&self) -> Option<&str> {
        match self {
            WireError::NotJson { .. }
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

    /// The answer to a client whose request had this fault: a 400 that names the field.
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

    /// The answer to a client when an upstream's reply had this fault: a 502, or the
    /// upstream's own words when it says that it failed.
    pub fn to_upstream_error(&self) -> ApiError {
        if let WireError::UpstreamFailed(error) = self {
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
