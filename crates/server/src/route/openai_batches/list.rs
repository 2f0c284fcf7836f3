//! `GET /v1/batches`

use axum::Json;
use axum::extract::State;
use prowess_store::BatchKind;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::batches::openai;
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
    let request = page::parse_openai(&query)?;
    let kind = BatchKind::File;
    let found = app.store().list_batches(&principal.tenant, kind, &request);
    let found = found.await?;
    let has_more = found.has_more();
    let batches = found.items.iter().map(openai::batch).collect();
    Ok(Json(render::openai::list(batches, has_more)))
}
