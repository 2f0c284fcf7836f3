//! `DELETE /v1/responses/{id}`

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Path;

/// Forgets an answer. Those that go on from it keep what was said.
pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    app.store().delete_response(&caller.tenant, &id).await?;
    Ok(Json(
        json!({ "id": id, "object": "response", "deleted": true }),
    ))
}
