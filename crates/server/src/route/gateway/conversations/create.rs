//! `POST /v1/conversations`

use axum::extract::{FromRequest, Request, State};
use prowess_store::NewConversation;
use serde_json::{Map, Value};

use super::{failed, kept, new_items, read_items, shown};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Json;
use crate::metadata;

pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    request: Request,
) -> Result<axum::Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let Json(body) = Json::<Map<String, Value>>::from_request(request, &app).await?;
    let metadata = metadata::write(&metadata::read(body.get("metadata"))?).to_string();
    let items = read_items(body.get("items"))?;
    let id = kept::new_id("conv");
    let new = NewConversation {
        id: &id,
        metadata: &metadata,
        items: &new_items(&items),
        expires_in: app.settings().responses_kept,
    };
    let made = app
        .store()
        .create_conversation(&caller.tenant, &new)
        .await
        .map_err(failed(&id))?;
    Ok(axum::Json(shown(&made)))
}
