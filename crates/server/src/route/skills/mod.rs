//! `/v1/skills`: one file per verb.

mod archive;
mod content;
mod create;
mod delete;
mod get;
mod list;
mod search;
mod set_default;
mod upload;
mod versions;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use crate::anthropic_skills;
use crate::app::App;

/// Space for a form's own lines: names, types and boundaries of many small files.
const FORM_BYTES: u64 = 4 << 20;
/// A body that only selects a version.
const JSON_BYTES: usize = 64 << 10;

pub(super) fn routes(app: &App) -> Router<App> {
    let limits = &app.settings().skill_limits;
    let body = limits.total_bytes.max(limits.archive_bytes) + FORM_BYTES;
    Router::new()
        .route("/skills", get(list::list).post(create::create))
        .route(
            "/skills/{skill}",
            get(get::get)
                .delete(delete::delete)
                .merge(post(set_default::set_default).layer(DefaultBodyLimit::max(JSON_BYTES))),
        )
        .route("/skills/{skill}/content", get(content::content))
        .route(
            "/skills/{skill}/versions",
            get(versions::list::list).post(versions::create::create),
        )
        .route(
            "/skills/{skill}/versions/{version}",
            get(versions::get::get).delete(versions::delete::delete),
        )
        .route(
            "/skills/{skill}/versions/{version}/content",
            get(versions::content::content),
        )
        .route_layer(from_fn_with_state(app.clone(), anthropic_skills::divert))
        .layer(DefaultBodyLimit::max(
            usize::try_from(body).unwrap_or(usize::MAX),
        ))
}
