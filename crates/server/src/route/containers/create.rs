//! `POST /v1/containers`

use axum::extract::State;
use axum::response::Json as Answer;
use prowess_engine::NewContainer;
use serde_json::{Map, Value};

use super::told;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Json;

pub(crate) async fn create(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<Map<String, Value>>,
) -> Result<Answer<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let new = NewContainer::read(&body)?;
    let containers = app.engine().containers(&caller.tenant);
    Ok(Answer(told(&containers.create(new).await?)))
}
