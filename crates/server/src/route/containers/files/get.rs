//! `GET /v1/containers/{container}/files/{file}`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_engine::RunError;

use super::container_file_json;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::route::files::{FileShape, ProviderFileRequest};

pub(crate) async fn get(
    State(app): State<App>,
    principal: Principal,
    provider_request: ProviderFileRequest,
    PathParams((id, file)): PathParams<(String, String)>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let containers = app.engine().containers(&principal.tenant);
    match containers.file(&id, &file).await {
        Err(missing @ (RunError::ContainerNotFound { .. } | RunError::FileNotFound { .. })) => {
            let found = provider_request
                .find_file(&app, &principal, &file, missing)
                .await?;
            found.metadata(FileShape::InContainer(&id)).await
        }
        found => Ok(Json(container_file_json(&id, &found?)).into_response()),
    }
}
