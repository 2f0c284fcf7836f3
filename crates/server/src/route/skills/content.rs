//! `GET /v1/skills/{skill}/content`: the default version as a zip.

use axum::extract::State;
use axum::response::Response;
use prowess_store::VersionSelector;

use super::archive::archive_response;
use crate::app::App;
use crate::auth::Principal;
use crate::error::HttpError;
use crate::extract::PathParams;

pub(crate) async fn content(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    archive_response(&app, &principal, &id, &VersionSelector::Default).await
}
