//! Shared by creating a skill and creating a version.

use axum::Json;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use prowess_store::{NewVersion, UnchangedRule, UploadOutcome, UploadedVersion};
use serde_json::Value;

use crate::error::HttpError;
use crate::intake::UploadedSkill;

/// `keep`: return the latest version when nothing has changed.
const UNCHANGED_HEADER: &str = "prowess-unchanged";
/// The outcome: `created`, `unchanged` or `repeated`.
const OUTCOME_HEADER: HeaderName = HeaderName::from_static("prowess-outcome");
/// The digest of the version's files.
const DIGEST_HEADER: HeaderName = HeaderName::from_static("prowess-digest");
/// Maximum length of an idempotency key.
const MAX_REQUEST_KEY_BYTES: usize = 255;

/// Options in the headers of an upload.
pub(super) struct UploadOptions {
    unchanged: UnchangedRule,
    request_key: Option<String>,
}

impl UploadOptions {
    pub(super) fn from_headers(headers: &HeaderMap) -> Result<UploadOptions, HttpError> {
        let unchanged = match headers.get(UNCHANGED_HEADER) {
            None => UnchangedRule::NewVersion,
            Some(value) if value == "keep" => UnchangedRule::KeepLatest,
            Some(_) => {
                return Err(header_error(UNCHANGED_HEADER, "must be `keep` or absent"));
            }
        };
        Ok(UploadOptions {
            unchanged,
            request_key: request_key(headers)?,
        })
    }

    pub(super) fn new_version<'a>(
        &'a self,
        checked: &'a UploadedSkill,
        make_default: bool,
        notes: Option<&'a str>,
    ) -> NewVersion<'a> {
        NewVersion {
            skill: &checked.skill,
            scan: Some(&checked.scan),
            make_default,
            notes,
            unchanged: self.unchanged,
            request_key: self.request_key.as_deref(),
        }
    }
}

fn request_key(headers: &HeaderMap) -> Result<Option<String>, HttpError> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(key) if !key.is_empty() && key.len() <= MAX_REQUEST_KEY_BYTES => {
            Ok(Some(key.to_owned()))
        }
        _ => Err(header_error(
            "idempotency-key",
            "must be 1 to 255 characters of ASCII",
        )),
    }
}

fn header_error(name: &str, why: &str) -> HttpError {
    HttpError::bad_request("header-invalid", format!("{name}: {why}")).with_detail("param", name)
}

/// The response object, with headers for what the vendors' objects have no field for.
pub(super) fn upload_response(object: Value, uploaded: &UploadedVersion) -> Response {
    let mut response = Json(object).into_response();
    let outcome = match uploaded.outcome {
        UploadOutcome::Created => "created",
        UploadOutcome::Unchanged => "unchanged",
        UploadOutcome::Repeated => "repeated",
    };
    let headers = response.headers_mut();
    headers.insert(OUTCOME_HEADER, HeaderValue::from_static(outcome));
    if let Ok(digest) = HeaderValue::from_str(&uploaded.version.digest.to_string()) {
        headers.insert(DIGEST_HEADER, digest);
    }
    response
}
