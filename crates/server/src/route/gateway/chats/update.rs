//! `POST /v1/chat/completions/{id}`: what its client notes about it.

use axum::extract::{FromRequest, Request, State};
use serde_json::{Map, Value};

use super::{failed, shown};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::{Json, Path};
use crate::metadata;

pub(super) async fn update(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<axum::Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let Json(body) = Json::<Map<String, Value>>::from_request(request, &app).await?;
    let metadata = metadata::read_replacement(&body)?;
    let store = app.store();
    let record = store.update_chat(&caller.tenant, &id, &metadata).await;
    shown(&record.map_err(failed(&id))?).map(axum::Json)
}
