//! `GET /v1/messages/batches`

use axum::Json;
use axum::extract::State;
use prowess_store::BatchKind;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::batches::anthropic;
use crate::error::HttpError;
use crate::extract::Query;
use crate::{page, render};

pub(crate) async fn list(
    State(app): State<App>,
    principal: Principal,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let _permit = app.transfers().acquire_list(&principal.tenant).await?;
    let request = page::parse_anthropic_by_id(&query)?;
    let kind = BatchKind::Messages;
    let found = app.store().list_batches(&principal.tenant, kind, &request);
    let found = found.await?.map(|batch| anthropic::batch(&batch));
    Ok(Json(render::anthropic::page_by_id(found)))
}
