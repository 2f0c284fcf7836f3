//! `POST /v1/containers`

use axum::extract::{FromRequest, Request, State};
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
    request: Request,
) -> Result<Answer<Value>, ApiError> {
    // Before a body is read for nothing.
    caller.may(Need::UseModels)?;
    let Json(body) = Json::<Map<String, Value>>::from_request(request, &app).await?;
    let new = NewContainer::read(&body)?;
    let containers = app.engine().containers(&caller.tenant);
    Ok(Answer(told(&containers.create(new).await?)))
}
