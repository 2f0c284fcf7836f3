//! `/v1/containers`, as in OpenAI's API: one file per verb.

mod create;
mod delete;
mod files;
mod get;
mod list;

use axum::http::StatusCode;
use axum::routing::MethodRouter;
use prowess_engine::{Container, RunError};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::HttpError;
use crate::openapi::operation::OperationResponse::{self, Object};
use crate::openapi::operation::{Operation, OperationBody};
use crate::openapi::parameters as query;
use crate::route::table::row::{
    ObjectKind, PathNames, RouteMethod, RouteRow, RouteSetup, limit_body, on,
};

/// Space for the form around a file.
const FORM_BYTES: u64 = 1 << 20;

pub(super) static ROUTES: &[RouteRow] = &[
    RouteRow::openai(
        RouteMethod::Get,
        CONTAINERS,
        |method, setup| with_body_limit(on(method, list::list), setup),
        Operation::new("List containers", Object("ContainerList")).query(query::OPENAI_CONTAINERS),
        PathNames::OwnList,
    ),
    RouteRow::openai(
        RouteMethod::Post,
        CONTAINERS,
        |method, setup| with_body_limit(on(method, create::create), setup),
        Operation::new("Create a container", Object("Container")).body(OperationBody::Container),
        PathNames::Nothing("creates an object of the tenant"),
    ),
    RouteRow::openai(
        RouteMethod::Get,
        CONTAINER,
        |method, setup| with_body_limit(on(method, get::get), setup),
        Operation::new("Get a container", Object("Container")),
        NAMES_CONTAINER,
    ),
    RouteRow::openai(
        RouteMethod::Delete,
        CONTAINER,
        |method, setup| with_body_limit(on(method, delete::delete), setup),
        Operation::new("Delete a container", Object("Deleted")),
        NAMES_CONTAINER,
    ),
    RouteRow::openai(
        RouteMethod::Get,
        FILES,
        |method, setup| with_body_limit(on(method, files::list::list), setup),
        Operation::new("List the files of a container", Object("ContainerFileList"))
            .query(query::OPENAI_CONTAINER_FILES),
        NAMES_CONTAINER,
    ),
    RouteRow::openai(
        RouteMethod::Post,
        FILES,
        |method, setup| with_body_limit(on(method, files::create::create), setup),
        Operation::new("Add a file", Object("ContainerFile")).body(OperationBody::ContainerFile),
        NAMES_CONTAINER,
    ),
    RouteRow::openai(
        RouteMethod::Get,
        FILE,
        |method, setup| with_body_limit(on(method, files::get::get), setup),
        Operation::new("Get a file of a container", Object("ContainerFile")),
        NAMES_FILE,
    ),
    RouteRow::openai(
        RouteMethod::Delete,
        FILE,
        |method, setup| with_body_limit(on(method, files::delete::delete), setup),
        Operation::new("Delete a file of a container", Object("Deleted")),
        NAMES_FILE,
    ),
    RouteRow::openai(
        RouteMethod::Get,
        "/containers/{container}/files/{file}/content",
        |method, setup| with_body_limit(on(method, files::content::content), setup),
        Operation::new(
            "Download a file of a container",
            OperationResponse::Bytes("*/*"),
        ),
        NAMES_FILE,
    ),
    RouteRow::openai(
        RouteMethod::Get,
        "/containers/{container}/files/{file}/preview",
        |method, setup| with_body_limit(on(method, files::preview::preview), setup),
        Operation::new(
            "Draw a page of a PDF file of a container",
            OperationResponse::Bytes("image/png"),
        )
        .query(query::PDF_PAGE),
        NAMES_FILE,
    ),
];

const CONTAINERS: &str = "/containers";
const CONTAINER: &str = "/containers/{container}";
const FILES: &str = "/containers/{container}/files";
const FILE: &str = "/containers/{container}/files/{file}";
const NAMES_CONTAINER: PathNames = PathNames::Objects(&[ObjectKind::Container]);
const NAMES_FILE: PathNames = PathNames::Objects(&[ObjectKind::Container, ObjectKind::File]);

/// Limits bodies to a file and the form around it.
fn with_body_limit(handler: MethodRouter<App>, setup: &RouteSetup<'_>) -> MethodRouter<App> {
    let body = setup.app.settings().file_bytes.saturating_add(FORM_BYTES);
    limit_body(handler, body)
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
        "size_bytes": container.size_bytes,
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
        let error = match error {
            // What a client named may be at fault.
            RunError::Store(error) => return error.into(),
            error => error,
        };
        let code = match &error {
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
        let status = match neutral.status {
            // This API has no separate status for an overloaded server.
            529 => Ok(StatusCode::SERVICE_UNAVAILABLE),
            status => StatusCode::from_u16(status),
        };
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut refused = HttpError::new(status, code, neutral.message);
        if let Some(after) = error.retry_after() {
            refused = refused.retry_after(after.as_secs().max(1));
        }
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

#[cfg(test)]
mod tests {
    use prowess_store::Error as StoreError;

    use super::*;

    #[test]
    fn an_id_that_cannot_be_stored_is_the_clients_fault() {
        let refused = HttpError::from(RunError::Store(StoreError::NulInText));
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
        assert_eq!(refused.code, "nul-in-text");
    }
}
