//! `/v1/containers`, as in OpenAI's API: one file per verb.

mod create;
mod delete;
mod files;
mod get;
mod list;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::routing::get;
use prowess_engine::{Container, RunError};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::HttpError;

/// Space for the form around a file.
const FORM_BYTES: u64 = 1 << 20;

pub(super) fn routes(app: &App) -> Router<App> {
    let body = app.settings().file_bytes.saturating_add(FORM_BYTES);
    Router::new()
        .route("/containers", get(list::list).post(create::create))
        .route(
            "/containers/{container}",
            get(get::get).delete(delete::delete),
        )
        .route(
            "/containers/{container}/files",
            get(files::list::list).post(files::create::create),
        )
        .route(
            "/containers/{container}/files/{file}",
            get(files::get::get).delete(files::delete::delete),
        )
        .route(
            "/containers/{container}/files/{file}/content",
            get(files::content::content),
        )
        .layer(DefaultBodyLimit::max(
            usize::try_from(body).unwrap_or(usize::MAX),
        ))
}

/// A container in OpenAI's format.
fn container_json(container: &Container) -> Value {
    let network = match container.domains.as_slice() {
        [] => json!({"type": "disabled"}),
        domains => json!({"type": "allowlist", "allowed_domains": domains}),
    };
    json!({
        "id": container.id,
        "object": "container",
        "name": container.name,
        "status": "running",
        "created_at": container.created_at,
        "last_active_at": container.last_used_at,
        "expires_after": {"anchor": "last_active_at", "minutes": container.idle_minutes},
        "memory_limit": format!("{}g", (container.memory_bytes >> 30).max(1)),
        "network_policy": network,
    })
}

/// A page of a complete list: the items after an id, up to a limit.
fn list_page(all: Vec<Value>, after: Option<&str>, limit: u32) -> Value {
    let mut rest = all;
    if let Some(after) = after {
        let at = rest.iter().position(|item| item["id"] == after);
        rest.drain(..at.map_or(rest.len(), |at| at + 1));
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = rest.len() > limit;
    rest.truncate(limit);
    crate::render::openai::list(rest, has_more)
}

impl From<RunError> for HttpError {
    fn from(error: RunError) -> Self {
        let code = match &error {
            RunError::Store(error) => {
                return if error.is_transient() {
                    HttpError::unavailable(error.code(), error)
                } else {
                    HttpError::internal(error.code(), error)
                };
            }
            RunError::UnknownVersion { error, .. } => error.code(),
            RunError::Toolbox(error) => error.code(),
            RunError::ContainerNotFound { .. } => "container-not-found",
            RunError::FileNotFound { .. } => "file-not-found",
            RunError::SandboxUnavailable { .. } => "sandbox-unavailable",
            // No model is called here, so a provider's own skill cannot be meant.
            RunError::UnknownSkill { id, .. } => {
                let message = format!("skill `{id}` not found; upload it first");
                return HttpError::new(StatusCode::NOT_FOUND, "skill-not-found", message);
            }
            RunError::TooManySkills { .. } => "skills-too-many",
            RunError::InlineSkill { .. } => "skill-inline-invalid",
            RunError::NetworkNotAllowed { .. } => "network-not-allowed",
            _ => "container-invalid",
        };
        let neutral = error.to_api_error();
        let status = StatusCode::from_u16(neutral.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut refused = HttpError::new(status, code, neutral.message);
        if status == StatusCode::INSUFFICIENT_STORAGE {
            // A retry does not free disk space.
            refused = refused.without_retry();
        }
        match neutral.param {
            Some(param) => refused.with_detail("param", param),
            None => refused,
        }
    }
}
