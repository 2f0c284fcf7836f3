//! `GET /v1/skills/{skill}/versions/{version}/content`: the version as a zip.

use axum::extract::State;
use axum::response::Response;
use prowess_store::VersionSelector;

use super::super::archive::archive_response;
use crate::app::App;
use crate::auth::Principal;
use crate::error::HttpError;
use crate::extract::PathParams;

pub(crate) async fn content(
    State(app): State<App>,
    principal: Principal,
    PathParams((id, version)): PathParams<(String, String)>,
) -> Result<Response, HttpError> {
    let selector = VersionSelector::parse(&version)?;
    archive_response(&app, &principal, &id, &selector).await
}
