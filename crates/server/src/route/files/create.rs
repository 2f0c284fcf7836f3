//! `POST /v1/files`

use axum::Json;
use axum::extract::{Request, State};
use prowess_skill::misleading::describe_misleading;
use prowess_store::NewFile;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::form::{FileBounds, FileForm};
use crate::render;

/// Values of `purpose` in OpenAI's API.
pub(super) const PURPOSES: [&str; 6] = [
    "assistants",
    "batch",
    "fine-tune",
    "vision",
    "user_data",
    "evals",
];
const MAX_NAME_CHARS: usize = 500;
const OCTET_STREAM: &str = "application/octet-stream";

pub(crate) async fn create(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    request: Request,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::WriteFiles)?;
    let _permit = app
        .transfers()
        .acquire_file_upload(&principal.tenant)
        .await?;
    let bounds = FileBounds {
        max_bytes: app.settings().file_bytes,
        tenant: &principal.tenant,
        is_stored: true,
    };
    let mut form = FileForm::read(request, &app, bounds).await?;
    let purpose = parse_purpose(dialect, form.purpose.as_deref())?.to_owned();
    let name = clean_name(form.name.as_deref())?;
    let mime = clean_mime(form.mime.as_deref()).to_owned();
    let content = form.content();
    let new = NewFile {
        name: &name,
        mime: &mime,
        purpose: &purpose,
        scope: None,
        // Anthropic's clients may download only files created by a run.
        downloadable: false,
        expires_in: form.expires_in,
        limit: app.settings().file_bytes,
    };
    let file = app
        .store()
        .create_file(&principal.tenant, &new, content)
        .await?;
    Ok(Json(match dialect {
        ApiDialect::Anthropic(_) => render::anthropic::file(&file),
        ApiDialect::OpenAi => render::openai::file(&file),
    }))
}

fn parse_purpose(dialect: ApiDialect, purpose: Option<&str>) -> Result<&str, HttpError> {
    match (dialect, purpose) {
        (ApiDialect::Anthropic(_), _) => Ok("user_data"),
        (ApiDialect::OpenAi, Some(purpose)) if PURPOSES.contains(&purpose) => Ok(purpose),
        (ApiDialect::OpenAi, _) => {
            let message = format!("purpose: must be one of {}", PURPOSES.join(", "));
            Err(HttpError::bad_request("file-purpose", message).with_detail("param", "purpose"))
        }
    }
}

/// Only the last path segment is used.
fn clean_name(name: Option<&str>) -> Result<String, HttpError> {
    let name = name.unwrap_or_default().rsplit(['/', '\\']).next();
    let name = name.filter(|name| !name.is_empty()).unwrap_or("unnamed");
    let why = match describe_misleading(name) {
        _ if name.chars().count() > MAX_NAME_CHARS => {
            format!("has more than {MAX_NAME_CHARS} characters")
        }
        Some(why) => why,
        None => return Ok(name.to_owned()),
    };
    let message = format!("file: its name {why}");
    Err(HttpError::bad_request("file-name", message).with_detail("param", "file"))
}

/// The client's media type, if it is valid in a header.
fn clean_mime(mime: Option<&str>) -> &str {
    let plain = |mime: &&str| mime.len() <= 255 && mime.bytes().all(|b| (0x20..0x7f).contains(&b));
    mime.filter(plain).unwrap_or(OCTET_STREAM)
}
