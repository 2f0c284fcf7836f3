//! `DELETE /v1/responses/{id}`

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;

/// Deletes a response. Later responses of the conversation keep its items.
pub(super) async fn delete(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    app.store().delete_response(&principal.tenant, &id).await?;
    Ok(Json(
        json!({ "id": id, "object": "response", "deleted": true }),
    ))
}
