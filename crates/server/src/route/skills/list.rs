//! `GET /v1/skills`

use axum::Json;
use axum::extract::State;
use prowess_store::{SkillFilter, SkillSource, SortOrder};
use serde_json::Value;

use super::{labelled, search};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::Query;
use crate::{page, render};

pub(crate) async fn list(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::ReadSkills)?;
    let _permit = app.transfers().acquire_list(&principal.tenant).await?;
    // An empty query is one too: the store refuses it.
    if let Some(words) = query.all("query").next() {
        return search::search(&app, dialect, &principal, &query, words).await;
    }
    let (store, tenant) = (app.store(), &principal.tenant);
    match dialect {
        ApiDialect::Anthropic(betas) => {
            let request = page::parse_anthropic(&query, SortOrder::Descending)?;
            let filter = filter(&query, betas.skills)?;
            let page = store.list_skills(tenant, &filter, &request).await?;
            let mut page = page.map(|skill| render::anthropic::skill(&skill, betas.skills));
            labelled::add_to_skills(&app, tenant, &mut page.items).await?;
            Ok(Json(render::anthropic::page(page, betas.skills)))
        }
        ApiDialect::OpenAi => {
            let request = page::parse_openai(&query)?;
            let filter = filter(&query, false)?;
            let page = store.list_skills(tenant, &filter, &request).await?;
            let more = page.has_more();
            let skills = page.items.iter().map(render::openai::skill);
            let mut skills: Vec<Value> = skills.collect::<Result<_, _>>()?;
            labelled::add_to_skills(&app, tenant, &mut skills).await?;
            Ok(Json(render::openai::list(skills, more)))
        }
    }
}

/// `name` is Prowess's own; the vendors have only `source`.
fn filter(query: &Query, include_empty: bool) -> Result<SkillFilter, HttpError> {
    Ok(SkillFilter {
        name: query.get("name").map(str::to_owned),
        source: query.get("source").map(SkillSource::parse).transpose()?,
        include_empty,
    })
}
