//! `GET /v1/chat/completions/{id}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::{failed, shown};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Path;

pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let record = app.store().chat(&caller.tenant, &id).await;
    shown(&record.map_err(failed(&id))?).map(Json)
}
