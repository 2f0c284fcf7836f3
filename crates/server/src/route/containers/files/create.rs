//! `POST /v1/containers/{container}/files`: a form with a file, or the id of a stored file.

use std::pin::pin;

use axum::extract::{FromRequest, Request, State};
use axum::http::header::CONTENT_TYPE;
use futures_util::TryStreamExt;
use serde_json::{Map, Value};

use super::container_file_json;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{Json, PathParams};
use crate::form::{FileBounds, FileForm, spool_error};

pub(crate) async fn create(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
    request: Request,
) -> Result<axum::Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let containers = app.engine().containers(&principal.tenant);
    // Checked before a large file is read.
    containers.get(&id).await?;
    let kind = request.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let put = if kind.starts_with("application/json") {
        let Json(body) = Json::<Map<String, Value>>::from_request(request, &app).await?;
        let file = body.get("file_id").and_then(Value::as_str);
        containers
            .put_stored(&id, file.ok_or_else(missing_file_id)?)
            .await?
    } else {
        let _permit = app
            .transfers()
            .acquire_file_upload(&principal.tenant)
            .await?;
        let file_bytes = app.settings().file_bytes;
        let bounds = FileBounds {
            // All of it is in memory later and must be counted.
            max_bytes: file_bytes.min(app.body_budget().max_body_bytes() as u64),
            tenant: &principal.tenant,
            is_stored: false,
        };
        let mut form = FileForm::read(request, &app, bounds).await?;
        let mut reservation = app.body_budget().reserve(&principal.tenant);
        let size = usize::try_from(form.size()).unwrap_or(usize::MAX);
        reservation.grow(size).await?;
        let name = form.name.clone().unwrap_or_default();
        let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let content = read_whole(&mut form, size).await?;
        containers.put(&id, name, content).await?
    };
    Ok(axum::Json(container_file_json(&id, &put)))
}

/// Reads the whole file, for which the body budget has a reservation.
async fn read_whole(form: &mut FileForm, size: usize) -> Result<Vec<u8>, HttpError> {
    let mut all = Vec::with_capacity(size);
    let mut chunks = pin!(form.content());
    while let Some(chunk) = chunks.try_next().await.map_err(spool_error)? {
        all.extend_from_slice(&chunk);
    }
    Ok(all)
}

fn missing_file_id() -> HttpError {
    let message = "file_id: must be the id of a stored file; to upload a file, send it as \
        multipart/form-data in `file`";
    HttpError::bad_request("file-missing", message).with_detail("param", "file_id")
}
