//! Failures of the parts below, as failures of a request.

use axum::extract::multipart::{MultipartError, MultipartRejection};
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::http::StatusCode;
use prowess_skill::{BundleError, Diagnostic, Severity};
use prowess_store::Error as StoreError;
use serde_json::{Value, json};

use super::ApiError;

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let status = match &error {
            StoreError::NotFound { .. } => StatusCode::NOT_FOUND,
            // The vendor has a name for this one.
            StoreError::FileExpired { .. } => {
                return ApiError::new(StatusCode::NOT_FOUND, "file_expired", error.to_string());
            }
            StoreError::NoVersion { .. }
            | StoreError::NameMismatch { .. }
            | StoreError::TitleTaken { .. }
            | StoreError::HasVersions { .. }
            | StoreError::LastVersion { .. }
            | StoreError::DefaultVersion { .. }
            | StoreError::Cursor
            | StoreError::Selector { .. }
            | StoreError::Nul
            | StoreError::ConversationFull { .. }
            | StoreError::ItemIdsTaken { .. }
            | StoreError::Invalid { .. }
            | StoreError::Interrupted(_) => StatusCode::BAD_REQUEST,
            StoreError::FileTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            StoreError::RequestKeyReused { .. } => {
                let error = ApiError::new(StatusCode::CONFLICT, error.code(), error.to_string());
                return error.permanent();
            }
            // What Anthropic answers when an organisation's storage is used up.
            StoreError::Quota { .. } => {
                let refused = ApiError::new(StatusCode::FORBIDDEN, error.code(), error.to_string());
                return refused.permanent();
            }
            StoreError::Full { .. } => return ApiError::storage_full(error.code(), &error),
            _ if error.is_transient() => return ApiError::unavailable(error.code(), &error),
            _ => return ApiError::internal(error.code(), &error),
        };
        ApiError::new(status, error.code(), error.to_string())
    }
}

impl From<BundleError> for ApiError {
    fn from(error: BundleError) -> Self {
        let refused = ApiError::bad_request(error.code(), format!("skill upload refused: {error}"));
        match error.entry() {
            Some(entry) => refused.with("file", entry.trim_matches('`')),
            None => refused,
        }
    }
}

/// Diagnostics told in one answer, at most.
const LISTED: usize = 100;

/// A skill that does not pass, with everything that is wrong with it.
pub(crate) fn invalid_skill(diagnostics: &[Diagnostic]) -> ApiError {
    let errors = || diagnostics.iter().filter(|d| d.severity == Severity::Error);
    let (code, what) = match errors().next() {
        Some(first) => (first.code, described(first)),
        None => ("skill-invalid", "it does not load".to_owned()),
    };
    let more = match errors().count().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more: see details)"),
    };
    let message = format!("skill upload refused: {what}{more}");
    let list: Vec<Value> = diagnostics.iter().take(LISTED).map(|d| json!(d)).collect();
    let refused = ApiError::bad_request(code, message).with("diagnostics", list);
    match diagnostics.len().saturating_sub(LISTED) {
        0 => refused,
        more => refused.with("diagnostics_left_out", more),
    }
}

fn described(diagnostic: &Diagnostic) -> String {
    let place = match diagnostic.place {
        Some(place) => format!("{}:{}:{}", diagnostic.file, place.line, place.column),
        None => diagnostic.file.clone(),
    };
    let fix = diagnostic.fix.unwrap_or_default();
    let text = format!("{place}: {}. {fix}", diagnostic.message);
    text.trim_end().to_owned()
}

impl From<PathRejection> for ApiError {
    fn from(rejection: PathRejection) -> Self {
        ApiError::bad_request("path-invalid", rejection.body_text())
    }
}

impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> Self {
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => too_large(),
            _ => ApiError::bad_request("json-invalid", rejection.body_text()),
        }
    }
}

impl From<MultipartRejection> for ApiError {
    fn from(_: MultipartRejection) -> Self {
        ApiError::bad_request(
            "form-missing",
            "this request needs a body of type multipart/form-data with a boundary; \
             for a skill, send its files in `files[]`",
        )
    }
}

impl From<MultipartError> for ApiError {
    fn from(error: MultipartError) -> Self {
        match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => too_large(),
            status if status.is_server_error() => ApiError::internal("form-unreadable", &error),
            _ => ApiError::bad_request(
                "form-invalid",
                format!("the multipart form cannot be read: {}", error.body_text()),
            ),
        }
    }
}

fn too_large() -> ApiError {
    ApiError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "body-too-large",
        "the body is larger than a skill or file may be; leave files out or shrink them",
    )
}
