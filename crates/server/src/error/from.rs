//! Conversions of other crates' errors to HTTP errors.

use axum::extract::multipart::{MultipartError, MultipartRejection};
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::http::StatusCode;
use prowess_skill::{BundleError, Diagnostic, Severity};
use prowess_store::Error as StoreError;
use serde_json::{Value, json};

use super::HttpError;

/// Retry delay when a tenant has too many runs that have not ended.
const OPEN_RUNS_RETRY_SECONDS: u64 = 10;
/// Retry delay when a tenant has too many batches that have not ended. They take longer than runs,
/// and SDKs ignore delays of more than a minute.
const OPEN_BATCHES_RETRY_SECONDS: u64 = 60;

impl From<StoreError> for HttpError {
    fn from(error: StoreError) -> Self {
        let status = match &error {
            StoreError::NotFound { .. } | StoreError::LabelNotFound { .. } => StatusCode::NOT_FOUND,
            // The vendor has its own code for this one.
            StoreError::FileExpired { .. } => {
                return HttpError::new(StatusCode::NOT_FOUND, "file_expired", error.to_string());
            }
            StoreError::NoVersion { .. }
            | StoreError::NameMismatch { .. }
            | StoreError::TitleTaken { .. }
            | StoreError::HasVersions { .. }
            | StoreError::LastVersion { .. }
            | StoreError::DefaultVersion { .. }
            | StoreError::VersionInUse { .. }
            | StoreError::VersionRevoked { .. }
            | StoreError::TooManyLabels { .. }
            | StoreError::InvalidCursor
            | StoreError::InvalidSelector { .. }
            | StoreError::NulInText
            | StoreError::ConversationFull { .. }
            | StoreError::ItemIdsTaken { .. }
            | StoreError::BatchInProgress { .. }
            | StoreError::Invalid { .. }
            | StoreError::Interrupted(_) => StatusCode::BAD_REQUEST,
            StoreError::TooManyBatches { .. } => {
                let status = StatusCode::TOO_MANY_REQUESTS;
                let error = HttpError::new(status, error.code(), error.to_string());
                return error.retry_after(OPEN_BATCHES_RETRY_SECONDS);
            }
            StoreError::TooManyChanges { wait, .. } => {
                let status = StatusCode::TOO_MANY_REQUESTS;
                let refused = HttpError::new(status, error.code(), error.to_string());
                // The rest of a second counts too. Clients do not wait for so long by themselves.
                let seconds = wait.as_secs().saturating_add(1);
                return refused.retry_after(seconds).without_retry();
            }
            StoreError::TooManyRuns { .. } => {
                let status = StatusCode::TOO_MANY_REQUESTS;
                let error = HttpError::new(status, error.code(), error.to_string());
                return error.retry_after(OPEN_RUNS_RETRY_SECONDS);
            }
            StoreError::FileTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            StoreError::KeyInactive { .. } => {
                let error = HttpError::new(StatusCode::CONFLICT, error.code(), error.to_string());
                return error.without_retry();
            }
            StoreError::KeyGrantsMore { .. } | StoreError::LabelProtected { .. } => {
                StatusCode::FORBIDDEN
            }
            StoreError::RequestKeyReused { .. } => {
                let error = HttpError::new(StatusCode::CONFLICT, error.code(), error.to_string());
                return error.without_retry();
            }
            // As Anthropic responds when an organisation's storage is used up.
            StoreError::QuotaExceeded { .. } => {
                let refused =
                    HttpError::new(StatusCode::FORBIDDEN, error.code(), error.to_string());
                return refused.without_retry();
            }
            StoreError::StorageFull { .. } => return HttpError::storage_full(error.code(), &error),
            _ if error.is_transient() => return HttpError::unavailable(error.code(), &error),
            _ => return HttpError::internal(error.code(), &error),
        };
        HttpError::new(status, error.code(), error.to_string())
    }
}

impl From<BundleError> for HttpError {
    fn from(error: BundleError) -> Self {
        let refused =
            HttpError::bad_request(error.code(), format!("skill upload refused: {error}"));
        match error.entry() {
            Some(entry) => refused.with_detail("file", entry.trim_matches('`')),
            None => refused,
        }
    }
}

/// Diagnostics in one response, at most.
const MAX_LISTED_DIAGNOSTICS: usize = 100;

/// An invalid skill, with all diagnostics.
pub(crate) fn invalid_skill(diagnostics: &[Diagnostic]) -> HttpError {
    let errors = || diagnostics.iter().filter(|d| d.severity == Severity::Error);
    let (code, what) = match errors().next() {
        Some(first) => (first.code, describe(first)),
        None => ("skill-invalid", "it cannot be loaded".to_owned()),
    };
    let more = match errors().count().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more: see details)"),
    };
    let message = format!("skill upload refused: {what}{more}");
    let list: Vec<Value> = diagnostics
        .iter()
        .take(MAX_LISTED_DIAGNOSTICS)
        .map(|d| json!(d))
        .collect();
    let refused = HttpError::bad_request(code, message).with_detail("diagnostics", list);
    match diagnostics.len().saturating_sub(MAX_LISTED_DIAGNOSTICS) {
        0 => refused,
        more => refused.with_detail("diagnostics_left_out", more),
    }
}

fn describe(diagnostic: &Diagnostic) -> String {
    let place = match diagnostic.place {
        Some(place) => format!("{}:{}:{}", diagnostic.file, place.line, place.column),
        None => diagnostic.file.clone(),
    };
    let fix = diagnostic.fix.unwrap_or_default();
    let text = format!("{place}: {}. {fix}", diagnostic.message);
    text.trim_end().to_owned()
}

impl From<PathRejection> for HttpError {
    fn from(rejection: PathRejection) -> Self {
        HttpError::bad_request("path-invalid", rejection.body_text())
    }
}

impl From<JsonRejection> for HttpError {
    fn from(rejection: JsonRejection) -> Self {
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => too_large_error(),
            _ => HttpError::bad_request("json-invalid", rejection.body_text()),
        }
    }
}

impl From<MultipartRejection> for HttpError {
    fn from(_: MultipartRejection) -> Self {
        HttpError::bad_request(
            "form-missing",
            "this request requires a multipart/form-data body with a boundary; for a skill, send \
            its files in `files[]`",
        )
    }
}

impl From<MultipartError> for HttpError {
    fn from(error: MultipartError) -> Self {
        match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => too_large_error(),
            status if status.is_server_error() => HttpError::internal("form-unreadable", &error),
            _ => HttpError::bad_request(
                "form-invalid",
                format!("the multipart form cannot be read: {}", error.body_text()),
            ),
        }
    }
}

fn too_large_error() -> HttpError {
    HttpError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "body-too-large",
        "the body exceeds the size limit of a skill or file; remove or shrink files",
    )
}
