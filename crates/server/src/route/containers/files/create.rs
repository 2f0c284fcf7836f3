//! `POST /v1/containers/{container}/files`: a form with a file, or a stored file's id.

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
use crate::form::FileForm;

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
        let mut form = FileForm::read(request, &app).await?;
        // From here on it is in memory.
        let mut reservation = app.bodies().reserve(&caller.tenant);
        let size = usize::try_from(form.size()).unwrap_or(usize::MAX);
        reservation.grow(size).await?;
        let name = form.name.clone().unwrap_or_default();
        let name = name
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or_default()
            .to_owned();
        let content = form.content().try_fold(Vec::new(), |mut all, piece| {
            all.extend_from_slice(&piece);
            std::future::ready(Ok(all))
        });
        let content = content.await;
        let content = content.map_err(|error| ApiError::unavailable("spool", &error))?;
        containers.put(&id, &name, content).await?
    };
    Ok(Json(told(&id, &put)))
}

fn missing() -> ApiError {
    let message = "file_id: must be the id of a stored file; a file itself is sent as \
                   multipart/form-data in `file`";
    ApiError::bad_request("file-missing", message).with("param", "file_id")
}
