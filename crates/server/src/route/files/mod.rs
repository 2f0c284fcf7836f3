//! `/v1/files`: one file per verb. Files stored by a provider are in [`provider_files`].

mod content;
mod create;
mod delete;
mod get;
mod google;
mod list;
mod provider_files;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::get;

pub(crate) use create::PURPOSES;
pub(super) use provider_files::{FileShape, ProviderFileRequest};

use crate::app::App;

/// Space for the form around the file.
const FORM_BYTES: u64 = 1 << 20;

/// Files created by runs, at the paths of Google's API.
pub(super) fn google_routes() -> Router<App> {
    Router::new().route("/files/{file}", get(google::get))
}

pub(super) fn routes(app: &App) -> Router<App> {
    let body = app.settings().file_bytes.saturating_add(FORM_BYTES);
    Router::new()
        .route("/files", get(list::list).post(create::create))
        .route("/files/{file}", get(get::get).delete(delete::delete))
        .route("/files/{file}/content", get(content::content))
        .layer(DefaultBodyLimit::max(
            usize::try_from(body).unwrap_or(usize::MAX),
        ))
}
