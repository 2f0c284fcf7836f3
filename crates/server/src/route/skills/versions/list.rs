//! `GET /v1/skills/{skill}/versions`

use axum::Json;
use axum::extract::State;
use prowess_store::Order;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::extract::{Path, Query};
use crate::{ids, page, render};

pub(crate) async fn list(
    State(app): State<App>,
    dialect: Dialect,
    caller: Caller,
    Path(id): Path<String>,
    query: Query,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::ReadSkills)?;
    let (store, tenant, id) = (app.store(), &caller.tenant, ids::skill(&id));
    match dialect {
        Dialect::Anthropic(betas) => {
            // The beta begins with the oldest.
            let order = match betas.skills {
                true => Order::Ascending,
                false => Order::Descending,
            };
            let request = page::anthropic(&query, order)?;
            let page = store.list_versions(tenant, id, &request).await?;
            let page = page.map(|version| render::anthropic::version(&version, betas.skills));
            Ok(Json(render::anthropic::page(page, betas.skills)))
        }
        Dialect::OpenAi => {
            let request = page::openai(&query)?;
            let page = store.list_versions(tenant, id, &request).await?;
            let more = page.has_more();
            let versions = page.items.iter().map(render::openai::version);
            Ok(Json(render::openai::list(versions.collect(), more)))
        }
    }
}
