//! The public index of skills, for installers and agents.
//!
//! Off unless a tenant is configured; then the default versions of that tenant's skills are
//! public.
//!
//! | path | what |
//! |---|---|
//! | `/.well-known/agent-skills/index.json` | the index, v0.2.0, with digests |
//! | `/.well-known/agent-skills/NAME.tar.gz`, `…/NAME/SKILL.md` | the artifacts it links to |
//! | `/.well-known/skills/index.json`, `…/NAME/PATH` | the older format, file by file |

mod archives;
mod artifact;
mod catalogue;
mod index;
mod legacy;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;

pub(crate) use archives::ArchiveDigests;

use crate::app::App;
use crate::error::HttpError;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/.well-known/agent-skills/index.json", get(index::index))
        .route("/.well-known/agent-skills/{file}", get(artifact::archive))
        .route(
            "/.well-known/agent-skills/{name}/SKILL.md",
            get(artifact::skill_md),
        )
        .route("/.well-known/skills/index.json", get(legacy::index))
        .route("/.well-known/skills/{name}/{*path}", get(legacy::file))
}

/// May be cached for a minute, and read by any page.
fn public_response(kind: &'static str, body: impl Into<Bytes>) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "public, max-age=60"),
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    ];
    (headers, body.into()).into_response()
}

fn not_found_error(what: &str) -> HttpError {
    let message = format!("no skill `{}` in the public index", what.escape_debug());
    HttpError::new(StatusCode::NOT_FOUND, "skill-not-found", message)
}
