//! `GET /v1/skills/{skill}/content`: the default version as a zip.

use axum::extract::State;
use axum::response::Response;
use prowess_store::VersionSelector;

use super::archive::archive;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::Path;

pub(crate) async fn content(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    archive(&app, &caller, &id, &VersionSelector::Default).await
}
