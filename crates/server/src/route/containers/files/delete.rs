//! `DELETE /v1/containers/{container}/files/{file}`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_engine::RunError;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::render::openai::deleted;
use crate::route::files::{FileShape, ProviderFileRequest};

pub(crate) async fn delete(
    State(app): State<App>,
    principal: Principal,
    provider_request: ProviderFileRequest,
    PathParams((id, file)): PathParams<(String, String)>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let containers = app.engine().containers(&principal.tenant);
    match containers.remove(&id, &file).await {
        Err(missing @ (RunError::ContainerNotFound { .. } | RunError::FileNotFound { .. })) => {
            let found = provider_request
                .find_file(&app, &principal, &file, missing)
                .await?;
            found.delete(FileShape::InContainer(&id)).await
        }
        removed => {
            removed?;
            Ok(Json(deleted(&file, "container.file.deleted")).into_response())
        }
    }
}
