//! `GET /v1/batches/{batch}`

use axum::Json;
use axum::extract::State;
use prowess_store::BatchKind;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::batches::openai;
use crate::error::HttpError;
use crate::extract::PathParams;

pub(crate) async fn get(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let kind = BatchKind::File;
    let batch = app.store().batch(&principal.tenant, kind, &id).await?;
    Ok(Json(openai::batch(&batch)))
}
