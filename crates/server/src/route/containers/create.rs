//! `POST /v1/containers`

use axum::extract::{FromRequest, Request, State};
use prowess_engine::NewContainer;
use serde_json::{Map, Value};

use super::container_json;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::Json;

pub(crate) async fn create(
    State(app): State<App>,
    principal: Principal,
    request: Request,
) -> Result<axum::Json<Value>, HttpError> {
    // Checked before the body is read.
    principal.require(Permission::UseModels)?;
    let Json(body) = Json::<Map<String, Value>>::from_request(request, &app).await?;
    let new = NewContainer::parse(&body)?;
    let containers = app.engine().containers(&principal.tenant);
    Ok(axum::Json(container_json(&containers.create(new).await?)))
}
