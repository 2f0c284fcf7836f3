//! `POST /v1/containers/{container}/files`: a form with a file, or a stored file's id.

use std::pin::pin;

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::http::header::CONTENT_TYPE;
use futures_util::TryStreamExt;
use serde_json::{Map, Value};

use super::told;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::{Json as Body, Path};
use crate::form::{FileBounds, FileForm, spool_failed};

pub(crate) async fn create(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let containers = app.engine().containers(&caller.tenant);
    // Before a large file is taken for nothing.
    containers.get(&id).await?;
    let kind = request.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let put = if kind.starts_with("application/json") {
        let Body(body) = Body::<Map<String, Value>>::from_request(request, &app).await?;
        let file = body.get("file_id").and_then(Value::as_str);
        containers
            .put_stored(&id, file.ok_or_else(missing)?)
            .await?
    } else {
        let _turn = app.transfers().file(&caller.tenant).await?;
        let file_bytes = app.settings().file_bytes;
        let bounds = FileBounds {
            // All of it is in memory later, and must be counted there.
            max_bytes: file_bytes.min(app.bodies().max_body_bytes() as u64),
            stored_for: None,
        };
        let mut form = FileForm::read(request, &app, bounds).await?;
        let mut reservation = app.bodies().reserve(&caller.tenant);
        let size = usize::try_from(form.size()).unwrap_or(usize::MAX);
        reservation.grow(size).await?;
        let name = form.name.clone().unwrap_or_default();
        let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let content = whole(&mut form, size).await?;
        containers.put(&id, name, content).await?
    };
    Ok(Json(told(&id, &put)))
}

/// All of a file, for which there is room in the budget of bodies.
async fn whole(form: &mut FileForm, size: usize) -> Result<Vec<u8>, ApiError> {
    let mut all = Vec::with_capacity(size);
    let mut pieces = pin!(form.content());
    while let Some(piece) = pieces.try_next().await.map_err(spool_failed)? {
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

fn missing() -> ApiError {
    let message = "file_id: must be the id of a stored file; a file itself is sent as \
                   multipart/form-data in `file`";
    ApiError::bad_request("file-missing", message).with("param", "file_id")
}
