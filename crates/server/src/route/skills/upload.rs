//! What creating a skill and creating a version have in common.

use axum::Json;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use prowess_store::{NewVersion, Outcome, Unchanged, Uploaded};
use serde_json::Value;

use crate::error::ApiError;
use crate::intake::Intake;

/// `keep`: answer with the latest version when nothing has changed.
const UNCHANGED: &str = "prowess-unchanged";
/// How the answer came to be: `created`, `unchanged` or `repeated`.
const OUTCOME: HeaderName = HeaderName::from_static("prowess-outcome");
/// The digest of the version's files.
const DIGEST: HeaderName = HeaderName::from_static("prowess-digest");
/// Longest key by which a client repeats an upload.
const MAX_REQUEST_KEY: usize = 255;

/// What the headers of an upload say about it.
pub(super) struct Wishes {
    unchanged: Unchanged,
    request_key: Option<String>,
}

impl Wishes {
    pub(super) fn of(headers: &HeaderMap) -> Result<Wishes, ApiError> {
        let unchanged = match headers.get(UNCHANGED) {
            None => Unchanged::NewVersion,
            Some(value) if value == "keep" => Unchanged::KeepLatest,
            Some(_) => return Err(header(UNCHANGED, "must be `keep` or be left out")),
        };
        Ok(Wishes {
            unchanged,
            request_key: request_key(headers)?,
        })
    }

    pub(super) fn version<'a>(&'a self, intake: &'a Intake, make_default: bool) -> NewVersion<'a> {
        NewVersion {
            skill: &intake.skill,
            scan: Some(&intake.scan),
            make_default,
            unchanged: self.unchanged,
            request_key: self.request_key.as_deref(),
        }
    }
}

fn request_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(key) if !key.is_empty() && key.len() <= MAX_REQUEST_KEY => Ok(Some(key.to_owned())),
        _ => Err(header(
            "idempotency-key",
            "must be 1 to 255 characters of ASCII",
        )),
    }
}

fn header(name: &str, why: &str) -> ApiError {
    ApiError::bad_request("header-invalid", format!("{name}: {why}")).with("param", name)
}

/// An object, and in headers what the vendors' objects have no place for.
pub(super) fn answer(object: Value, uploaded: &Uploaded) -> Response {
    let mut response = Json(object).into_response();
    let outcome = match uploaded.outcome {
        Outcome::Created => "created",
        Outcome::Unchanged => "unchanged",
        Outcome::Repeated => "repeated",
    };
    let headers = response.headers_mut();
    headers.insert(OUTCOME, HeaderValue::from_static(outcome));
    if let Ok(digest) = HeaderValue::from_str(&uploaded.version.digest.to_string()) {
        headers.insert(DIGEST, digest);
    }
    response
}
