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

pub(crate) mod archive_digests;
mod archives;
mod artifact;
mod catalogue;
mod index;
mod legacy;
mod single_files;

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use crate::error::HttpError;
use crate::openapi::operation::{Operation, OperationResponse};
use crate::route::table::row::{PathNames, RouteRow, on};

const NAMES: PathNames = PathNames::Nothing("public: only skills of the configured tenant");

pub(super) static ROUTES: &[RouteRow] = &[
    RouteRow::plain(
        "/.well-known/agent-skills/index.json",
        |method, _| on(method, index::index),
        Operation::new("The public index", OperationResponse::Json),
        NAMES,
    ),
    RouteRow::plain(
        "/.well-known/agent-skills/{file}",
        |method, _| on(method, artifact::archive),
        Operation::new(
            "Download a skill of the public index",
            OperationResponse::Bytes("application/gzip"),
        ),
        NAMES,
    ),
    RouteRow::plain(
        "/.well-known/agent-skills/{name}/SKILL.md",
        |method, _| on(method, artifact::skill_md),
        Operation::new(
            "Get the SKILL.md of a skill of the public index",
            OperationResponse::Bytes("text/markdown"),
        ),
        NAMES,
    ),
    RouteRow::plain(
        "/.well-known/skills/index.json",
        |method, _| on(method, legacy::index),
        Operation::new("The public index, older format", OperationResponse::Json),
        NAMES,
    ),
    RouteRow::plain(
        "/.well-known/skills/{name}/{*path}",
        |method, _| on(method, legacy::file),
        Operation::new(
            "Get a file of a skill of the public index, older format",
            OperationResponse::Bytes("*/*"),
        ),
        NAMES,
    ),
];

/// May be cached for a minute, and read by any page.
fn public_response(kind: &'static str, body: impl Into<Body>) -> Response {
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
