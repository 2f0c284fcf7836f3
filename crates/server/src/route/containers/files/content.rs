//! `GET /v1/containers/{container}/files/{file}/content`

use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Response};
use prowess_engine::RunError;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::route::files::ProviderFileRequest;

pub(crate) async fn content(
    State(app): State<App>,
    principal: Principal,
    provider_request: ProviderFileRequest,
    PathParams((id, file)): PathParams<(String, String)>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let containers = app.engine().containers(&principal.tenant);
    let content = match containers.read(&id, &file).await {
        Err(missing @ (RunError::ContainerNotFound { .. } | RunError::FileNotFound { .. })) => {
            let found = provider_request
                .find_file(&app, &principal, &file, missing)
                .await?;
            return found.content().await;
        }
        found => found?,
    };
    // Browsers must save it and not execute it.
    let headers = [
        (CONTENT_TYPE, "application/octet-stream"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, content).into_response())
}
