//! `POST /console/upload/publish`: publishes what was checked, by the API.

use axum::body::Body;
use axum::extract::State;
use axum::response::Redirect;
use http::Request;
use http::header::CONTENT_TYPE;
use serde_json::Value;

use crate::api::PageError;
use crate::format::text;
use crate::pending_uploads::PendingUpload;
use crate::query::{FormFields, segment};
use crate::state::ConsoleState;
use crate::visitor::Visitor;

/// Skills that are published at once.
const MAX_SKILLS: usize = 20;
/// Bytes of an answer of the API.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// What became of an upload.
struct PublishedSkill {
    skill_id: String,
    /// `created`, `unchanged` or `repeated`.
    outcome: String,
}

pub(super) async fn publish(
    State(state): State<ConsoleState>,
    visitor: Visitor,
    FormFields(form): FormFields,
) -> Result<Redirect, PageError> {
    let ids: Vec<&str> = form.all("pending").take(MAX_SKILLS).collect();
    let make_default = form.get("default") == Some("true");
    let notes = form.get("notes");
    let mut published = Vec::new();
    for id in &ids {
        let upload = state.pending.get(&visitor.owner, id);
        let upload = upload.ok_or_else(|| {
            PageError::not_found("this upload does not exist any more: upload the files again")
        })?;
        let done = send(&visitor, id, &upload, make_default, notes).await;
        let done = done.map_err(|error| PageError {
            message: format!("{}: {}", upload.name, error.message),
            ..error
        })?;
        state.pending.remove(&visitor.owner, id);
        published.push(done);
    }
    match published.as_slice() {
        [] => Err(PageError::bad_request("no skill was chosen")),
        [one] => {
            let done = match one.outcome.as_str() {
                "unchanged" => "unchanged",
                _ => "published",
            };
            let skill = segment(&one.skill_id);
            Ok(Redirect::to(&format!(
                "/console/skills/{skill}?done={done}"
            )))
        }
        _ => Ok(Redirect::to("/console/skills")),
    }
}

async fn send(
    visitor: &Visitor,
    id: &str,
    upload: &PendingUpload,
    make_default: bool,
    notes: Option<&str>,
) -> Result<PublishedSkill, PageError> {
    let path = match &upload.skill_id {
        Some(skill) => format!("/v1/skills/{}/versions", segment(skill)),
        None => "/v1/skills".to_owned(),
    };
    let kind = format!("multipart/form-data; boundary={id}");
    let request = Request::post(path)
        .header(CONTENT_TYPE, kind)
        .header("prowess-unchanged", "keep")
        .body(Body::from(form_bytes(id, upload, make_default, notes)));
    let request = request.map_err(|_| PageError::bad_request("this upload cannot be published"))?;
    let answer = visitor.api.send(request).await?;
    let outcome = answer.headers().get("prowess-outcome");
    let outcome = outcome.and_then(|it| it.to_str().ok());
    let outcome = outcome.unwrap_or_default().to_owned();
    let body = axum::body::to_bytes(answer.into_body(), MAX_ANSWER_BYTES).await;
    let body: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
    // A version names its skill; a skill is one.
    let skill_id = match text(&body, "skill_id") {
        id if id.is_empty() => text(&body, "id"),
        id => id,
    };
    Ok(PublishedSkill { skill_id, outcome })
}

/// The form of an upload. The boundary is random, and in no archive.
fn form_bytes(
    boundary: &str,
    upload: &PendingUpload,
    make_default: bool,
    notes: Option<&str>,
) -> Vec<u8> {
    let mut form = Vec::with_capacity(upload.zip.len() + 1_024);
    let mut field = |name: &str, value: &str| {
        let head = format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"");
        form.extend_from_slice(format!("{head}\r\n\r\n{value}\r\n").as_bytes());
    };
    if make_default {
        field("default", "true");
    }
    if let Some(notes) = notes {
        field("notes", notes);
    }
    let head = format!(
        "--{boundary}\r\ncontent-disposition: form-data; name=\"files[]\"; \
         filename=\"skill.zip\"\r\ncontent-type: application/zip\r\n\r\n"
    );
    form.extend_from_slice(head.as_bytes());
    form.extend_from_slice(&upload.zip);
    form.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    form
}
