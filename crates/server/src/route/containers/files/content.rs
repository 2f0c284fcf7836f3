//! `GET /v1/containers/{container}/files/{file}/content`

use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Response};
use prowess_engine::RunError;

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Path;
use crate::route::files::Visitor;

pub(crate) async fn content(
    State(app): State<App>,
    caller: Caller,
    visitor: Visitor,
    Path((id, file)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    caller.may(Need::UseModels)?;
    let containers = app.engine().containers(&caller.tenant);
    let content = match containers.read(&id, &file).await {
        Err(missing @ (RunError::NoContainer { .. } | RunError::NoFile { .. })) => {
            let found = visitor.seek(&app, &caller, &file, missing).await?;
            return found.content().await;
        }
        found => found?,
    };
    // Whatever it holds, a browser shall save it and not run it.
    let headers = [
        (CONTENT_TYPE, "application/octet-stream"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, content).into_response())
}
