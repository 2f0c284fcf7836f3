//! `GET /v1/conversations/{id}/items/{item}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::read;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Path;
use crate::route::gateway::conversations::failed;

pub(in super::super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Path((id, item)): Path<(String, String)>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let store = app.store();
    let found = store.conversation_item(&caller.tenant, &id, &item).await;
    read(&found.map_err(failed(&id))?).map(Json)
}
