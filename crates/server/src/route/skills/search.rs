//! `GET /v1/skills?query=…`: skills that match some words, best first.

use axum::Json;
use prowess_store::{SearchHit, SkillRecord, SortOrder};
use serde_json::{Value, json};

use super::labelled;
use crate::app::App;
use crate::auth::Principal;
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::Query;
use crate::{page, render};

pub(super) async fn search(
    app: &App,
    dialect: ApiDialect,
    principal: &Principal,
    query: &Query,
    words: &str,
) -> Result<Json<Value>, HttpError> {
    let (store, tenant) = (app.store(), &principal.tenant);
    match dialect {
        ApiDialect::Anthropic(betas) => {
            let request = page::parse_anthropic(query, SortOrder::Descending)?;
            let page = store.search_skills(tenant, words, &request).await?;
            let render = |skill: &SkillRecord| render::anthropic::skill(skill, betas.skills);
            let mut page = page.map(|hit| scored(render(&hit.skill), &hit));
            labelled::add_to_skills(app, tenant, &mut page.items).await?;
            Ok(Json(render::anthropic::page(page, betas.skills)))
        }
        // Here a page begins after an id; its position among the hits is searched for.
        ApiDialect::OpenAi => {
            let request = page::parse_openai(query)?;
            let page = store.search_skills(tenant, words, &request).await?;
            let more = page.has_more();
            let render = |hit: &SearchHit| Ok(scored(render::openai::skill(&hit.skill)?, hit));
            let skills: Result<Vec<Value>, HttpError> = page.items.iter().map(render).collect();
            let mut skills = skills?;
            labelled::add_to_skills(app, tenant, &mut skills).await?;
            Ok(Json(render::openai::list(skills, more)))
        }
    }
}

fn scored(mut skill: Value, hit: &SearchHit) -> Value {
    if let Some(object) = skill.as_object_mut() {
        object.insert("search_score".to_owned(), json!(hit.score));
    }
    skill
}
