//! `POST /v1/files`

use axum::Json;
use axum::extract::{Request, State};
use prowess_store::NewFile;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::form::{FileBounds, FileForm};
use crate::render;

/// What OpenAI's clients may say a file is for.
pub(crate) const PURPOSES: [&str; 6] = [
    "assistants",
    "batch",
    "fine-tune",
    "vision",
    "user_data",
    "evals",
];
const MAX_NAME: usize = 500;
const OCTETS: &str = "application/octet-stream";

pub(crate) async fn create(
    State(app): State<App>,
    dialect: Dialect,
    caller: Caller,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::WriteFiles)?;
    let _turn = app.transfers().file(&caller.tenant).await?;
    let bounds = FileBounds {
        max_bytes: app.settings().file_bytes,
        stored_for: Some(&caller.tenant),
    };
    let mut form = FileForm::read(request, &app, bounds).await?;
    let purpose = purpose(dialect, form.purpose.as_deref())?.to_owned();
    let name = name(form.name.as_deref())?;
    let mime = mime(form.mime.as_deref()).to_owned();
    let content = form.content();
    let new = NewFile {
        name: &name,
        mime: &mime,
        purpose: &purpose,
        scope: None,
        // Anthropic's clients may fetch only what a run has made.
        downloadable: false,
        expires_in: form.expires_in,
        limit: app.settings().file_bytes,
    };
    let file = app
        .store()
        .create_file(&caller.tenant, &new, content)
        .await?;
    Ok(Json(match dialect {
        Dialect::Anthropic(_) => render::anthropic::file(&file),
        Dialect::OpenAi => render::openai::file(&file),
    }))
}

fn purpose(dialect: Dialect, purpose: Option<&str>) -> Result<&str, ApiError> {
    match (dialect, purpose) {
        (Dialect::Anthropic(_), _) => Ok("user_data"),
        (Dialect::OpenAi, Some(purpose)) if PURPOSES.contains(&purpose) => Ok(purpose),
        (Dialect::OpenAi, _) => {
            let message = format!("purpose: say what the file is for: {}", PURPOSES.join(", "));
            Err(ApiError::bad_request("file-purpose", message).with("param", "purpose"))
        }
    }
}

/// Only the last part of a path is kept.
fn name(name: Option<&str>) -> Result<String, ApiError> {
    let name = name.unwrap_or_default().rsplit(['/', '\\']).next();
    let name = name.filter(|name| !name.is_empty()).unwrap_or("unnamed");
    if name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        let message = format!("file: its name must be 1 to {MAX_NAME} characters of plain text");
        return Err(ApiError::bad_request("file-name", message).with("param", "file"));
    }
    Ok(name.to_owned())
}

/// What the client says, if that can stand in a header again.
fn mime(mime: Option<&str>) -> &str {
    let plain = |mime: &&str| mime.len() <= 255 && mime.bytes().all(|b| (0x20..0x7f).contains(&b));
    mime.filter(plain).unwrap_or(OCTETS)
}
