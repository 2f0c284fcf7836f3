//! `GET /v1/skills`

use axum::Json;
use axum::extract::State;
use prowess_store::{Order, SkillFilter, SkillSource};
use serde_json::Value;

use super::search;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::extract::Query;
use crate::{page, render};

pub(crate) async fn list(
    State(app): State<App>,
    dialect: Dialect,
    caller: Caller,
    query: Query,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::ReadSkills)?;
    if let Some(words) = query.get("query") {
        return search::search(&app, dialect, &caller, &query, words).await;
    }
    let (store, tenant) = (app.store(), &caller.tenant);
    match dialect {
        Dialect::Anthropic(betas) => {
            let request = page::anthropic(&query, Order::Descending)?;
            let filter = filter(&query, betas.skills)?;
            let page = store.list_skills(tenant, &filter, &request).await?;
            let page = page.map(|skill| render::anthropic::skill(&skill, betas.skills));
            Ok(Json(render::anthropic::page(page, betas.skills)))
        }
        Dialect::OpenAi => {
            let request = page::openai(&query)?;
            let filter = filter(&query, false)?;
            let page = store.list_skills(tenant, &filter, &request).await?;
            let more = page.has_more();
            let skills = page.items.iter().map(render::openai::skill);
            Ok(Json(render::openai::list(
                skills.collect::<Result<_, _>>()?,
                more,
            )))
        }
    }
}

/// `name` is ours; the vendors know `source` only.
fn filter(query: &Query, include_empty: bool) -> Result<SkillFilter, ApiError> {
    Ok(SkillFilter {
        name: query.get("name").map(str::to_owned),
        source: query.get("source").map(SkillSource::parse).transpose()?,
        include_empty,
    })
}
