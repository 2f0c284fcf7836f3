//! `GET /v1/skills/{skill}/versions`

use axum::Json;
use axum::extract::State;
use prowess_store::SortOrder;
use serde_json::Value;

use super::super::labelled;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::{PathParams, Query};
use crate::{ids, page, render};

pub(crate) async fn list(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    PathParams(id): PathParams<String>,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::ReadSkills)?;
    let _permit = app.transfers().acquire_list(&principal.tenant).await?;
    let (store, tenant, id) = (app.store(), &principal.tenant, ids::canonical_skill_id(&id));
    match dialect {
        ApiDialect::Anthropic(betas) => {
            // The beta lists the oldest first.
            let order = if betas.skills {
                SortOrder::Ascending
            } else {
                SortOrder::Descending
            };
            let request = page::parse_anthropic(&query, order)?;
            let page = store.list_versions(tenant, id, &request).await?;
            let mut page = page.map(|version| render::anthropic::version(&version, betas.skills));
            labelled::add_to_versions(&app, tenant, id, &mut page.items).await?;
            Ok(Json(render::anthropic::page(page, betas.skills)))
        }
        ApiDialect::OpenAi => {
            let request = page::parse_openai(&query)?;
            let page = store.list_versions(tenant, id, &request).await?;
            let more = page.has_more();
            let versions = page.items.iter().map(render::openai::version);
            let mut versions: Vec<Value> = versions.collect();
            labelled::add_to_versions(&app, tenant, id, &mut versions).await?;
            Ok(Json(render::openai::list(versions, more)))
        }
    }
}
