//! `GET /v1/skills?query=…`: the skills that fit some words, best first.

use axum::Json;
use prowess_store::{MAX_LIMIT, Order, PageRequest, Position, SearchHit, SkillRecord};
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::Caller;
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::extract::Query;
use crate::{page, render};

pub(super) async fn search(
    app: &App,
    dialect: Dialect,
    caller: &Caller,
    query: &Query,
    words: &str,
) -> Result<Json<Value>, ApiError> {
    let (store, tenant) = (app.store(), &caller.tenant);
    match dialect {
        Dialect::Anthropic(betas) => {
            let request = page::anthropic(query, Order::Descending)?;
            let page = store.search_skills(tenant, words, &request).await?;
            let render = |skill: &SkillRecord| render::anthropic::skill(skill, betas.skills);
            let page = page.map(|hit| scored(render(&hit.skill), &hit));
            Ok(Json(render::anthropic::page(page, betas.skills)))
        }
        Dialect::OpenAi => {
            let all = PageRequest {
                limit: MAX_LIMIT,
                order: Order::Descending,
                from: Position::Start,
            };
            let hits = store.search_skills(tenant, words, &all).await?.items;
            openai(hits, query).map(Json)
        }
    }
}

/// In this dialect a page begins after an id, which says nothing of its rank; so the
/// best thousand are ranked anew for each page.
fn openai(hits: Vec<SearchHit>, query: &Query) -> Result<Value, ApiError> {
    let limit = page::openai(query)?.limit as usize;
    let start = match query.get("after") {
        None => 0,
        Some(id) => match hits.iter().position(|hit| hit.skill.id == id) {
            Some(at) => at + 1,
            None => return Err(prowess_store::Error::Cursor.into()),
        },
    };
    let more = hits.len() > start + limit;
    let shown = hits.iter().skip(start).take(limit);
    let skills = shown.map(|hit| Ok(scored(render::openai::skill(&hit.skill)?, hit)));
    let skills: Result<_, ApiError> = skills.collect();
    Ok(render::openai::list(skills?, more))
}

fn scored(mut skill: Value, hit: &SearchHit) -> Value {
    if let Some(object) = skill.as_object_mut() {
        object.insert("search_score".to_owned(), json!(hit.score));
    }
    skill
}
