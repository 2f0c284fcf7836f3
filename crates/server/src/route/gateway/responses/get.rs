//! `GET /v1/responses/{id}`

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::refuse_stream;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::{Path, Query};

/// The answer as its client was given it.
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    query: Query,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    caller.may(Need::UseModels)?;
    refuse_stream(&query)?;
    let record = app.store().load_response(&caller.tenant, &id).await?;
    Ok(([(CONTENT_TYPE, "application/json")], record.response).into_response())
}
