//! `GET /v1/containers/{container}/files/{file}/content`

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
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
    let content = match containers.open(&id, &file).await {
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
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_LENGTH, content.size.to_string()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    Ok((headers, Body::from_stream(content.body)).into_response())
}
