//! `GET /v1/containers/{container}/files/{file}`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_engine::RunError;

use super::told;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Path;
use crate::route::files::{Shape, Visitor};

pub(crate) async fn get(
    State(app): State<App>,
    caller: Caller,
    visitor: Visitor,
    Path((id, file)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    caller.may(Need::UseModels)?;
    let containers = app.engine().containers(&caller.tenant);
    match containers.file(&id, &file).await {
        Err(missing @ (RunError::NoContainer { .. } | RunError::NoFile { .. })) => {
            let found = visitor.seek(&app, &caller, &file, missing).await?;
            found.about(Shape::InContainer(&id)).await
        }
        found => Ok(Json(told(&id, &found?)).into_response()),
    }
}
