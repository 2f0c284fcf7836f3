//! `GET /v1/skills/{skill}/versions/{version}/content`: the version as a zip.

use axum::extract::State;
use axum::response::Response;
use prowess_store::VersionSelector;

use super::super::archive::archive;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::Path;

pub(crate) async fn content(
    State(app): State<App>,
    caller: Caller,
    Path((id, version)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let selector = VersionSelector::parse(&version)?;
    archive(&app, &caller, &id, &selector).await
}
