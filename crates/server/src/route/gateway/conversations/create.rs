//! `POST /v1/conversations`

use axum::extract::{FromRequest, Request, State};
use prowess_store::NewConversation;
use serde_json::{Map, Value};

use super::{conversation_json, item_format, map_store_error, new_items, read_items};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::CountedJson;
use crate::metadata;

pub(super) async fn create(
    State(app): State<App>,
    principal: Principal,
    request: Request,
) -> Result<axum::Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let CountedJson {
        value: body,
        memory: _memory,
    } = CountedJson::<Map<String, Value>>::from_request(request, &app).await?;
    let metadata = metadata::to_json(&metadata::parse(body.get("metadata"))?).to_string();
    let items = read_items(body.get("items"))?;
    let id = item_format::new_id("conv");
    let new = NewConversation {
        id: &id,
        metadata: &metadata,
        items: &new_items(&items),
        expires_in: app.settings().response_retention,
    };
    let record = app
        .store()
        .create_conversation(&principal.tenant, &new)
        .await
        .map_err(map_store_error(&id))?;
    Ok(axum::Json(conversation_json(&record)))
}
